"""penstock analyze of a job of an ordinary user, under Slurm and penstockd."""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

import agent_case
import embedded
import hierarchy

ACCELERATOR_S = 0.002  # per sample: 500 samples/s


class Analyze(agent_case.AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.penstock = cls.cluster.expose(
            embedded.build_directory() / "bin" / "penstock")

    def analyze(self, *words, timeout=150):
        return self.cluster.command(self.penstock, "analyze", *words,
                                    user=self.cluster.user, timeout=timeout)

    def trainer_of(self, seconds=1):
        """A trainer's command; its own duration makes no difference to
        analyze."""
        return [self.train, "--data", self.data, "--batch", "16",
                "--accelerator-s-per-sample", str(ACCELERATOR_S),
                "--duration", str(seconds)]

    def figures(self, *words):
        done = self.analyze("--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_users_job_is_measured_and_its_profile_is_believed(self):
        home = pathlib.Path(self.cluster.home())
        saved = home / "saved.toml"
        cpus = min(2, os.cpu_count())
        found = self.figures("--budget", "45s", "--save", str(saved),
                             "-n1", f"-c{cpus}", "--gres=gpu:1", "--",
                             *self.trainer_of())
        self.assertEqual(found["cpus"], cpus)
        if embedded.PATIENCE == 1:
            self.assertAlmostEqual(found["ceiling"]["value"] * ACCELERATOR_S,
                                   1, delta=0.1)
        by = {point["cores"]: point for point in found["prep"]}
        limited = [point for point in by.values() if point["limited_by"]]
        self.assertTrue(limited, found)
        for point in limited:
            self.assertEqual(point["limited_by"], "quota")
        # With less CPU, the loader prepares less.
        least, most = min(by), max(by)
        self.assertLess(by[least]["value"], by[most]["value"] / 2)
        self.assertIn("the accelerator is emulated", found["notes"])
        self.check_nothing_left()

        job = self.cluster.sbatch(
            self.trainer_of(600), flags=["--loader=auto", f"--loader-model={saved}"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        self.wait("the profile to be used", lambda: (
            (self.job_status(job) or {}).get("ceiling", {}).get("predicted")))
        predicted = self.job_status(job)["ceiling"]["predicted"]["value"]
        self.assertAlmostEqual(predicted, found["ceiling"]["value"], delta=1)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def test_commands_that_cannot_be_measured_say_why(self):
        done = self.analyze("-n1", "--gres=gpu:1", "--", "sh", "-c",
                            "echo no such data; exit 7")
        self.assertEqual(done.returncode, 3)
        self.assertIn("exit code 7", done.stderr)
        self.assertIn("| no such data", done.stderr)
        done = self.analyze("--start", "2s", "-n1", "--gres=gpu:1", "--",
                            "sleep", "1000")
        self.assertEqual(done.returncode, 3)
        self.assertIn("has not asked for data within 2 s", done.stderr)
        done = self.analyze("--local", "-n1", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("-n1", done.stderr)
        done = self.analyze("-n1")
        self.assertEqual(done.returncode, 2)
        self.assertIn("COMMAND", done.stderr)
        few = self.trainer_of()
        few[few.index("--batch") + 1] = "1000"
        done = self.analyze("-n1", "--gres=gpu:1", "--", *few)
        self.assertEqual(done.returncode, 3)
        self.assertIn("less than the 1000 of a batch", done.stderr)
        self.cluster.wait_empty()

    @unittest.skipIf(hierarchy.COMOUNTED, "SKIPPED: no quota where cpu and "
                     "cpuacct are one hierarchy")
    def test_no_limit_outlives_penstockd_off_or_the_job(self):
        job = self.cluster.sbatch(
            [self.penstock, "analyze", "--budget", "600s", "--cores", "0.2",
             "-n1", "--", *self.trainer_of()], flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))

        def limit():
            return hierarchy.cpu_limit(self.cluster.node, job)

        self.wait("the job to be held to 0.2 cores", lambda: (
            limit() == "2000 10000"), 60)
        self.cluster.stop_agent(signal.SIGKILL)
        self.wait("the guardian to lift the limit", lambda: limit() is None)
        self.cluster.start_agent()
        self.wait("another limit", limit, 60)
        off = self.cluster.command(self.penstock, "off", "--socket",
                                   self.cluster.socket_path)
        self.assertEqual(off.returncode, 0, off.stderr)
        self.assertIsNone(limit())
        self.cluster.command(self.penstock, "on", "--socket",
                             self.cluster.socket_path)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def test_ctrl_c_ends_the_job_too(self):
        process = subprocess.Popen(
            [embedded.build_directory() / "bin" / "penstock", "analyze",
             "--local", "--", embedded.build_directory() / "bin" /
             "penstock-train", "--data", self.data, "--duration", "1"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        self.wait("a round to begin", lambda: (
            "round 1" in process.stderr.readline()))
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        _, errors = process.communicate(timeout=30 * embedded.PATIENCE)
        self.assertLess(time.monotonic() - begun, 15 * embedded.PATIENCE)
        self.assertEqual(process.returncode, 3)
        self.assertIn("interrupted", errors)


main = agent_case.main

if __name__ == "__main__":
    main()

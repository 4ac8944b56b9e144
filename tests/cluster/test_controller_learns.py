"""penstockctld's knowledge of jobs before they run: earlier runs, which
predict the next run of their kind, and the table that slurmctld's plugin
reads."""

import json
import os
import re
import signal
import stat
import struct

import cluster_case
import embedded
import quiet
import submit_case
import test_nodes


class PredictedCase(quiet.Quiet, test_nodes.NodesCase):
    def ceiling(self, job):
        """penstockd's ceilings of the running job; {} before it knows the
        job."""
        try:
            return self.cluster.status_of(self.cluster.nodes[0],
                                          job)["ceiling"]
        except embedded.ClusterError:
            return {}

    def predicted(self, job):
        ceiling = self.ceiling(job)
        return ceiling if ceiling.get("predicted_from") else None


class EarlierRuns(PredictedCase):
    cluster_options = {"nodes": 1}
    samples_per_s = 60

    def start(self, name, seconds, flags=()):
        """Submits a job without a profile and without earlier runs."""
        command = self.trainer("run", self.samples_per_s, seconds=seconds)
        job = self.cluster.sbatch(
            f"#!/bin/sh\nexec {command}\n",
            flags=["--loader=auto", "--loader-batch=4", f"--job-name={name}",
                   *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def history(self, job):
        conf = self.cluster.conf_of[self.cluster.nodes[0]]
        done = self.cluster.command(
            str(self.cluster.build / "bin" / "penstock"), "history", str(job),
            "--json", "--config", conf)
        rows = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        return rows[0] if rows and rows[0]["end_unix_s"] else None

    def test_a_run_teaches_the_next_of_its_kind(self):
        first = self.start("sweep_1", 20)
        self.cluster.wait_job(first, timeout=60)
        self.wait("the first run's record", lambda: self.history(first))
        record = self.history(first)
        self.assertGreaterEqual(record["measured_s"], 10)
        self.assertEqual(record["batch"], 4)
        self.assertIsNone(record["model"])
        self.assertTrue(record["cluster"])
        # An emulated machine's CPU prepares fewer samples.
        if embedded.PATIENCE == 1:
            self.assertLess(abs(record["mean_rate_samples_per_s"]
                                / self.samples_per_s - 1), 0.2)
        self.assertIsNotNone(record["trainer_reserve_cores"])

        # The history outlives the controller.
        self.cluster.stop_controller(number=9)
        self.cluster.start_controller()
        second = self.start("sweep_2", 60)
        self.wait("a prediction", lambda: self.predicted(second))
        ceiling = self.predicted(second)
        self.assertEqual(ceiling["predicted_from"], "earlier runs")
        value = ceiling["predicted"]
        self.assertLess(abs(
            value["value"] / record["ceiling_samples_per_s"] - 1), 1e-6)
        if embedded.PATIENCE == 1:
            self.assertLessEqual(value["low"], self.samples_per_s)
            self.assertGreaterEqual(value["high"], self.samples_per_s)
        self.cluster.cancel(str(second))

        # A job's own profile precedes earlier runs; another kind has none.
        own = self.start("sweep_3", 60, flags=["--loader-model=res50"])
        self.wait("the profile", lambda: self.predicted(own))
        self.assertEqual(self.predicted(own)["predicted_from"],
                         "profile res50")
        self.cluster.cancel(str(own))
        other = self.start("another", 60)
        self.wait("a measurement",
                  lambda: self.ceiling(other).get("measured"))
        self.assertIsNone(self.predicted(other))
        self.cluster.cancel(str(other))


class Submissions(PredictedCase):
    cluster_options = {"nodes": 1, "counted_gres": submit_case.GRES,
                       "submit": (*submit_case.SUBMIT_CONF,
                                  "SubmitModel=known"),
                       "agent_lines": ("GPUType=T4",)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.write_profile(0.001, 3e6)
        # slurmctld maps the table when it starts.
        cls.cluster._wait("the table", lambda: os.path.exists(
            f"{cls.cluster.directory}/run/demand_table"), 30)
        cls.cluster.restart_controller()

    @classmethod
    def write_profile(cls, cpu_s, bytes_per_sample):
        with open(f"{cls.cluster.directory}/profiles/known.toml", "w",
                  encoding="utf-8") as file:
            file.write("accelerator_s_per_sample = 0.0005\n"
                       f"loader_cpu_s_per_sample = {cpu_s}\n"
                       f"bytes_per_sample = {bytes_per_sample}\n")
        os.kill(cls.cluster.controller_pid(), signal.SIGHUP)

    def gres(self, job):
        text = self.cluster.job(job).get("TresPerNode", "")
        return dict(re.findall(r"(\w+):(\d+)", text))

    def published_jobs(self):
        """Numbers of the jobs in the table (job_submit/demand_table.h)."""
        with open(f"{self.cluster.directory}/run/demand_table", "rb") as file:
            table = file.read()
        count, = struct.unpack_from("=I", table, 24)
        return {struct.unpack_from("=I", table, 40 + 256 * 136 + 16 * i)[0]
                for i in range(count)}

    def held(self, *flags):
        job = self.cluster.sbatch("#!/bin/sh\n", gpus=1, flags=[
            "--hold", "--loader=auto", *flags])
        self.addCleanup(self.cluster.cancel, str(job))
        return job

    def gres_of_new_job(self):
        job = self.held()
        self.cluster.cancel(str(job))
        return self.gres(job).get("loader_cpu")

    def test_jobs_get_what_penstockctld_publishes(self):
        self.wait("the profile to be published",
                  lambda: self.gres_of_new_job() == "2")
        self.write_profile(0.0005, 3e6)
        self.wait("the change to be published",
                  lambda: self.gres_of_new_job() == "1")
        # An unreadable profile changes nothing and is logged.
        self.write_profile("x", 0)
        self.wait("the error", lambda: "known.toml" in self.cluster.log_of(
            "penstockctld0"))
        self.assertEqual(self.gres_of_new_job(), "1")
        self.write_profile(0.001, 3e6)
        self.wait("the profile to be published again",
                  lambda: self.gres_of_new_job() == "2")
        self.assertIn("slurmctld's plugin is heard",
                      self.cluster.log_of("penstockctld0"))

    # The GPUs do not exist: the test checks the prediction, not the rate.
    def test_a_job_that_says_what_it_trains_is_predicted_when_it_arrives(self):
        profile = f"{self.cluster.directory}/profiles/shown.toml"
        with open(profile, "w", encoding="utf-8") as file:
            file.write('model = "resnet50"\nprecision = "AMP"\nbatch = 64\n'
                       'bytes_per_sample = 330e3\ncpu_class = "jpeg"\n')
        os.kill(self.cluster.controller_pid(), signal.SIGHUP)
        done = self.cluster.command(
            str(self.cluster.build / "bin" / "penstock"), "predict", "shown",
            "--json", "--config", self.cluster.conf_of[self.cluster.nodes[0]])
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = json.loads(done.stdout)
        self.wait("the profile to be published", lambda: self.gres(self.held(
            "--loader-model=shown")).get("loader_cpu") == "3")

        command = self.trainer("shown", 20)
        job = self.cluster.sbatch(f"#!/bin/sh\nexec {command}\n", flags=[
            "--loader=auto", "--loader-model=shown"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        self.wait("a prediction", lambda: self.predicted(job))
        found = self.predicted(job)
        self.assertTrue(found["predicted_from"].endswith(
            "shown.toml, given/known"), found)
        for end in ("value", "low", "high"):
            self.assertAlmostEqual(found["predicted"][end],
                                   expected["ceiling_samples_per_s"][end], 3)
        self.wait("a measurement", lambda: self.ceiling(job).get("measured"))

    def test_a_queued_job_keeps_its_gres_when_they_are_updated(self):
        self.wait("the profile to be published",
                  lambda: self.gres_of_new_job() == "2")
        job = self.held()
        wanted = self.gres(job)
        self.assertEqual(wanted["loader_cpu"], "2")

        self.wait("the table to know the job",
                  lambda: job in self.published_jobs())
        self.cluster.command("scontrol", "update", f"jobid={job}",
                             "gres=gpu:1")
        self.assertEqual(self.gres(job), wanted)
        self.cluster.cancel(str(job))
        self.wait("the table to forget it",
                  lambda: job not in self.published_jobs())

    def test_the_socket_is_slurmusers_alone(self):
        path = f"{self.cluster.directory}/run/submit.sock"
        found = os.stat(path)
        self.assertEqual(stat.S_IMODE(found.st_mode) & 0o077, 0)
        # A killed controller leaves the table behind; the next one takes it
        # over.
        self.cluster.stop_controller(number=9)
        self.assertTrue(os.path.exists(path))
        self.cluster.start_controller()
        log = self.cluster.log_of("penstockctld0")
        self.wait("the socket", lambda: os.path.exists(path) and
                  os.stat(path).st_ctime_ns != found.st_ctime_ns)
        self.held()
        self.wait("a datagram", lambda: self.cluster.log_of(
            "penstockctld0")[len(log):].count("plugin is heard") == 1)
        self.cluster.stop_controller()
        self.assertFalse(os.path.exists(path))
        self.cluster.start_controller()


if __name__ == "__main__":
    cluster_case.main()

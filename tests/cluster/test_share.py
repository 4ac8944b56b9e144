"""Jobs of a user that prepare their batches together under --loader-share."""

import json
import pathlib
import secrets
import unittest

import agent_case


class Share(agent_case.AgentCase):
    def setUp(self):
        self.name = f"test-{secrets.token_hex(8)}"

    def start(self, job_name, *words, name=None):
        job = self.cluster.sbatch(
            self.trainer(job_name, 1, extra=[*words]),
            flags=[f"--loader-share={name or self.name}"])
        self.addCleanup(self.cluster.cancel, str(job))
        return job

    def log(self, job_name):
        """The last line of the job's log; {} without a log."""
        path = pathlib.Path(self.cluster.home(), f"{job_name}.log")
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        try:
            return json.loads(lines[-1]) if lines else {}
        except ValueError:  # half a line
            return {}

    def files(self):
        return list(pathlib.Path("/dev/shm").glob(
            f"penstock-cache-*/{self.name}.stage"))

    def counts(self, *job_names):
        """Sums of the samples used and prepared."""
        logs = [self.log(name) for name in job_names]
        return [sum(log.get(key, 0) for log in logs)
                for key in ("samples", "prepared")]

    def test_both_prepare_and_one_that_is_killed_holds_up_nobody(self):
        first = self.start("first")
        self.wait("the share", self.files)
        self.assertIn({"name": "loader-share", "value": self.name},
                      self.job_status(first)["options"])
        second = self.start("second")
        self.wait("both to prepare", lambda: all(
            self.log(name).get("prepared") for name in ("first", "second")))
        before = self.counts("first", "second")
        self.wait("both to go on", lambda: self.counts(
            "first", "second")[0] > before[0] + 2000)
        used, prepared = (now - then for now, then in zip(
            self.counts("first", "second"), before))
        self.assertLess(prepared, 0.65 * used)  # half, except for the window
        self.cluster.command("scancel", "--signal=KILL", "--full", str(first))
        self.wait("the first job's end",
                  lambda: self.job_status(first) is None)
        before = self.log("second")["samples"]
        self.wait("the second job to go on",
                  lambda: self.log("second")["samples"] > before + 500)
        self.cluster.cancel(str(second))
        self.wait("the share to be removed", lambda: not self.files())

    def demands(self, *flags):
        """Demands and grants of two jobs of the same kind, in cores, after
        both were measured."""
        jobs = [self.submit(f"needs{i}", 1, flags=flags) for i in range(2)]

        def status():
            return [self.job_status(job) for job in jobs]

        self.wait("both to be measured for 10 s", lambda: all(
            one and one["ceiling"]["corrected"] for one in status()), 60)
        measured = status()
        self.cluster.cancel(*map(str, jobs))
        self.wait("their end", lambda: not any(status()))
        return ([one["cores"]["demand"]["value"] for one in measured],
                [one["cores"]["granted_home"] + one["cores"]["granted_away"]
                 for one in measured])

    # Both together need as much as one of them alone, whichever job prepares.
    def test_what_they_need_is_counted_once(self):
        shared, granted = self.demands(f"--loader-share={self.name}")
        alone, _ = self.demands()
        print(f"cores needed by two jobs, shared: {shared}, alone: {alone}")
        self.assertLess(sum(shared), 0.7 * sum(alone))
        self.assertGreater(sum(shared), 0.35 * sum(alone))
        for one in shared:  # even if the other job prepared all batches
            self.assertGreater(one, 0.45 * sum(shared))
        self.assertAlmostEqual(granted[0], granted[1], delta=0.2)

    def test_other_data_under_the_name_are_refused(self):
        self.start("first")
        self.wait("the share", self.files)
        done = self.cluster.srun(
            *self.trainer("second", 1, extra=["--seed", "8"]),
            flags=[f"--loader-share={self.name}"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("seed 8", done.stderr)
        self.assertIn("give it another name to share", done.stderr)


if __name__ == "__main__":
    unittest.main()

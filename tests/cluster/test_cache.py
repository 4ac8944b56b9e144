"""Jobs of a user that share a node's sample cache: penstockd's figures of
it, and its removal when no job uses it any more."""

import pathlib
import secrets
import unittest

import agent_case

SWEPT_S = 30  # penstockd checks every 10 s


class Cache(agent_case.AgentCase):
    def setUp(self):
        self.name = f"test-{secrets.token_hex(8)}"

    def start(self, job_name, *words):
        """Submits a managed job with the test's cache; it trains until
        cancelled."""
        job = self.cluster.sbatch(
            self.trainer(job_name, 1, extra=[
                "--cache", "64M", "--cache-name", self.name, *words]),
            flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def files(self):
        return list(pathlib.Path("/dev/shm").glob(
            f"penstock-cache-*/{self.name}.cache"))

    def cache_of(self, job):
        return (self.job_status(job) or {}).get("cache", {})

    def kill(self, *jobs):
        for job in jobs:
            self.cluster.command("scancel", "--signal=KILL", "--full",
                                 str(job))

    def test_a_second_job_reads_nothing_and_both_are_told(self):
        first = self.start("first")
        self.wait("the first job to have cached all", lambda: self.cache_of(
            first).get("held_share") == 1 and self.cache_of(first)["hits"])
        second = self.start("second")
        self.wait("the second job's hits", lambda: (
            self.cache_of(second).get("hits") or 0) > 64)
        cache = self.cache_of(second)
        self.assertEqual(cache["held_share"], 1)
        self.assertGreater(cache["hit_share"], 0.99)
        self.assertGreater(cache["hit_bytes"], 0)
        self.assertGreater(cache["held_bytes"], 0)
        self.cluster.cancel(str(second))
        self.wait("the second job's report", lambda: self.reports(second))
        text = "".join(pathlib.Path(path).read_text("utf-8")
                       for path in self.reports(second)
                       if path.endswith(".json"))
        self.assertIn('"held_share": 1', text)
        self.assertEqual(len(self.files()), 1)  # the first job has it

    def test_what_killed_jobs_leave_is_removed(self):
        first, second = self.start("a"), self.start("b")
        self.wait("the cache", lambda: len(self.files()) == 1 and (
            self.cache_of(second).get("hits")))
        self.kill(first)
        self.wait("the first job's end",
                  lambda: self.job_status(first) is None)
        self.assertEqual(len(self.files()), 1)
        self.kill(second)
        self.wait("the cache to be removed", lambda: not self.files(), SWEPT_S)

    def test_a_user_keeps_a_cache_no_longer_than_the_admin_does(self):
        job = self.start("kept", "--cache-keep", "3600")
        self.wait("the cache", self.files)
        self.cluster.cancel(str(job))
        self.wait("the cache to be removed", lambda: not self.files(), SWEPT_S)


if __name__ == "__main__":
    unittest.main()

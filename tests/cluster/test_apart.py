"""--loader-threads=N: the loader on N of the task's CPUs, the trainer on the
others; all CPUs for all threads after penstockd's end."""

import os
import pathlib
import signal
import unittest

import agent_case
import hierarchy

LOADER = "pst_loader"


@unittest.skipIf(os.cpu_count() < 2, "SKIPPED: one CPU")
class Apart(agent_case.AgentCase):
    def masks(self, job):
        """{"loader": masks of its threads, "trainer": masks of all other
        threads}."""
        found = {"loader": set(), "trainer": set()}
        for tid in hierarchy.job_threads(self.cluster.node, job):
            try:
                text = pathlib.Path(f"/proc/{tid}/status").read_text()
            except OSError:
                continue
            lines = dict(line.split(":\t", 1)
                         for line in text.splitlines() if ":\t" in line)
            if lines["Uid"].startswith("0\t"):
                continue  # Slurm's own
            side = "loader" if lines["Name"].startswith(LOADER) else "trainer"
            found[side].add(lines["Cpus_allowed_list"])
        return found

    def start_job(self, name):
        job = self.submit(name, 1 / 3, cpus=2, gpus=0,
                          flags=["--loader-threads=1"])
        self.wait("loader and trainer to be apart", lambda: self.masks(
            job) == {"loader": {"1"}, "trainer": {"0"}}, 15)
        return job

    def wait_together(self, job, timeout=5):
        self.wait("everybody to have all CPUs", lambda: self.masks(
            job) == {"loader": {"0-1"}, "trainer": {"0-1"}}, timeout)

    def test_stopped_and_started(self):
        job = self.start_job("stopped")
        self.assertEqual(self.cluster.stop_agent(), 0)
        self.assertEqual(self.masks(job),
                         {"loader": {"0-1"}, "trainer": {"0-1"}})
        self.cluster.start_agent()
        self.wait("them to be apart again", lambda: self.masks(
            job) == {"loader": {"1"}, "trainer": {"0"}}, 15)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def test_killed(self):
        job = self.start_job("killed")
        self.cluster.stop_agent(signal.SIGKILL)
        self.wait_together(job)
        self.cluster.start_agent()
        self.cluster.cancel(job)
        self.check_nothing_left()

    def test_nobody_asked(self):
        job = self.submit("whole", 1 / 3, cpus=2, gpus=0)
        self.wait("its loader to be known", lambda: (
            self.job_status(job) or {"cores": {}})["cores"].get(
                "loader_threads"))
        self.assertEqual(self.masks(job),
                         {"loader": {"0-1"}, "trainer": {"0-1"}})
        self.cluster.cancel(job)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()

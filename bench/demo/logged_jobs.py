"""Runs jobs of an ordinary user, given as command lines, that write a log."""

import contextlib
import pathlib
import time

from bench.demo import job_log
from bench.program import BenchError

START_TIMEOUT_S = 60
END_TIMEOUT_S = 60


class LoggedJobs:
    """On an embedded cluster. Not thread-safe."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._count = 0

    def path(self, name):
        """Returns the path of a new file, in the home of the jobs' user."""
        self._count += 1
        return pathlib.Path(self._cluster.home(), f"{self._count}-{name}")

    @contextlib.contextmanager
    def running(self, line, cpus, flags=()):
        """Yields (job, log) of a job that trains; cancels it at the end."""
        log = self.path("log")
        job = self._cluster.sbatch([*line, "--log", log], cpus=cpus,
                                   flags=flags)
        try:
            self._wait_training(job, log)
            yield job, log
        finally:
            self._cluster.cancel(str(job))
            self._wait_gone(job)

    def _wait_gone(self, job):
        deadline = time.monotonic() + END_TIMEOUT_S
        while any(one["id"] == job for one in self._cluster.squeue()):
            if time.monotonic() > deadline:
                raise BenchError(f"job {job} does not end")
            time.sleep(0.1)

    def _wait_training(self, job, log):
        deadline = time.monotonic() + START_TIMEOUT_S
        while not any(line.samples > 0 for line in job_log.read(log)):
            state = self._cluster.job(job).get("JobState", "unknown")
            if state not in ("PENDING", "RUNNING", "CONFIGURING") or \
                    time.monotonic() > deadline:
                raise BenchError(f"job {job} ({state}) does not train: "
                                 + self._cluster.output(job))
            time.sleep(0.1)

"""A changing load of short jobs on one node, each with a result that is known
beforehand."""

import pathlib

import python_jobs

BATCH = 4
AT_ONCE = 2
CEILING = 150  # samples/s: a small part of a CPU
KINDS = ("plain", "apart", "cached", "limited")

# Repeats its request for a limit, as measuring jobs do; there may be no
# penstockd.
LIMITED = python_jobs.PRELUDE + """
for step in range({batches}):
    try:
        ask(connect(), struct.pack("=IHHIIIIQ", 0x54534E50, 1, 10, 32, 3, 500,
                                   0, 0))
    except (OSError, struct.error):
        pass
    time.sleep(0.05)
tell({result!r}, {{"steps": step + 1}})
"""


class Job:
    """A job that is to make a number of steps."""

    def __init__(self, number, name, batches):
        self.number, self.name, self.batches = number, name, batches


class ShortJobs:
    """case: a NodesCase; random: a random.Random."""

    def __init__(self, case, node, random):
        self._case, self._node, self._random = case, node, random
        self._running = []
        self.count = 0  # of all jobs that have been started

    def tend(self, queued):
        """Checks those that have ended, which are not among the numbers
        `queued`, and starts others."""
        for job in [job for job in self._running if job.number not in queued]:
            self._case.result(job)
            self._running.remove(job)
        while len(self._running) < AT_ONCE:
            self._running.append(self._start())

    def finish(self):
        """Waits for all of them."""
        for job in self._running:
            self._case.result(job)
        self._running.clear()

    def _start(self):
        self.count += 1
        kind = self._random.choice(KINDS)
        name = f"{kind}{self.count}"
        batches = self._random.randint(20, 120)
        if kind == "limited":
            return self._case.start(name, batches, self._limited(name, batches),
                                    self._node, gpus=0)
        flags = ["--loader-threads=1"] * (kind == "apart")
        extra = ["--cache", "1M"] * (kind == "cached")
        return self._case.start(
            name, batches,
            self._case.train_for(name, batches, CEILING, BATCH, extra),
            self._node, flags, gpus=0, cpus=2 if kind == "apart" else 1)

    def _limited(self, name, batches):
        script = pathlib.Path(self._case.cluster.home(), f"{name}.py")
        script.write_text(LIMITED.format(
            module="", batches=batches, result=self._case.result_path(name)),
            "utf-8")
        return ["/usr/bin/python3", script]

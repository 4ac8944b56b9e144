"""Measures a batch's cost in the process that prepares it."""

import resource
import time
from typing import Any

from penstock._run_delay import OwnFile, RunDelay
from penstock._shared import SharedWords


_BLOCK_BYTES = 512  # the unit of ru_inblock


class _Reads(OwnFile):
    """What the thread has read: other threads of a worker read from sockets."""

    def __init__(self) -> None:
        super().__init__("/proc/thread-self/io")

    def calls(self) -> int:
        """Returns the number of its read calls, without this one."""
        try:
            return int(self.text().split(None, 6)[5])
        except (IndexError, ValueError):
            return 0


class Stopwatch:
    """Times batches and adds to a row of sums.

    A batch is timed from the first touch of the dataset to the collated batch.
    If the batch read from files and had to wait, the time that the loading
    thread neither ran nor waited for a CPU counts as fetching. All other time
    counts as preparing.

    The cost is a few system calls per batch. Use it in the loading process; a
    copy in a forked or spawned worker starts anew.
    """

    def __init__(self, sums: SharedWords):
        self.sums = sums
        self._start_over()

    def _start_over(self) -> None:
        self._first = 0  # word of its row
        self._delay = RunDelay()
        self._running = False
        self._whose = resource.RUSAGE_THREAD
        self._reads = _Reads()

    def __reduce__(self) -> tuple:
        return Stopwatch, (self.sums,)

    def enter_worker(self, row: int) -> None:
        """Switches to a worker process, in which all threads load."""
        self._whose = resource.RUSAGE_SELF
        self._first = row * self.sums.columns

    def begin(self) -> None:
        """Starts timing; no effect during a batch."""
        if self._running:
            return
        self._running = True
        self._delay_ns = self._delay.read_ns()
        self._usage = resource.getrusage(self._whose)
        self._calls = self._reads.calls() + 1  # that one
        self._begin_ns = time.monotonic_ns()

    def drop(self) -> None:
        """Discards the current batch, if any."""
        self._running = False

    def end(self, samples: int) -> None:
        if not self._running:
            return
        self._running = False
        wall_ns = time.monotonic_ns() - self._begin_ns
        usage = resource.getrusage(self._whose)
        before = self._usage
        blocks = usage.ru_inblock - before.ru_inblock
        # In the order of _pages.LOADED.
        words, first = self.sums.words, self._first
        if usage.ru_nvcsw > before.ru_nvcsw and self._has_read(usage):
            blocked_ns = self._blocked_ns(wall_ns, usage)
            words[first] += blocked_ns
            words[first + 1] += wall_ns - blocked_ns
        else:
            words[first + 1] += wall_ns
        words[first + 2] += blocks * _BLOCK_BYTES
        words[first + 3] += samples

    def _has_read(self, usage: Any) -> bool:
        """Whether the thread read from a file, by calls or through a map."""
        return (
            usage.ru_inblock > self._usage.ru_inblock
            or usage.ru_majflt > self._usage.ru_majflt
            or self._reads.calls() > self._calls
        )

    def _blocked_ns(self, wall_ns: int, usage: Any) -> int:
        """Returns the part of the wall time that was neither run time nor run
        delay."""
        before = self._usage
        cpu_s = usage.ru_utime - before.ru_utime
        cpu_s += usage.ru_stime - before.ru_stime
        busy_ns = int(cpu_s * 1e9) + self._delay.read_ns() - self._delay_ns
        return min(wall_ns, max(0, wall_ns - busy_ns))

"""Resource usage of a process and its loader's workers."""

import os
import time

_CPUCLOCK_SCHED = 2  # from linux/posix-timers.h
_QUIET_NS = 50_000_000
_QUIET_SHARE = 0.05  # of a CPU
_MAX_LOUD_NS = 10_000_000_000


class Usage:
    """Sums usage of this process and of all known workers, including ended
    workers. Single-threaded use."""

    def __init__(self):
        self._last: dict[int, tuple[float, int, int]] = {}

    def read(self, pids: list[int]) -> tuple[float, int, int]:
        """Returns CPU seconds, bytes read from storage, and all bytes that the
        loader read. With workers, the last figure counts only their reads,
        because this process reads their batches again."""
        own = os.getpid()
        for pid in (own, *pids):
            used = _used(pid)
            if used is not None:
                self._last[pid] = used
        parts = zip(*self._last.values())
        cpu_s, read, consumed = (sum(part) for part in parts)
        if len(self._last) > 1:
            consumed -= self._last[own][2]
        return cpu_s, read, consumed


class Quiet:
    """Detects idle workers. During a replayed batch they fill their queues,
    which takes CPU time from the training."""

    def __init__(self, pids: list[int]):
        self._pids = pids
        self._begin_ns = self._last_ns = time.monotonic_ns()
        self._last = self._read()

    def reached(self) -> bool:
        """Returns True after 10 s at the latest, because some workers are never
        idle."""
        now_ns = time.monotonic_ns()
        passed_ns = now_ns - self._last_ns
        if not self._pids or now_ns - self._begin_ns > _MAX_LOUD_NS:
            return True
        if passed_ns < _QUIET_NS:
            return False
        (cpu_s, read), (cpu_before_s, read_before) = self._read(), self._last
        self._last, self._last_ns = (cpu_s, read), now_ns
        busy = (cpu_s - cpu_before_s) / (passed_ns * 1e-9)
        return busy < _QUIET_SHARE and read == read_before

    def _read(self) -> tuple[float, int]:
        used = [one for pid in self._pids if (one := _used(pid)) is not None]
        return sum(one[0] for one in used), sum(one[1] for one in used)


def _used(pid: int) -> tuple[float, int, int] | None:
    """Returns None if the process has ended."""
    try:
        cpu_s = time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)
        with open(f"/proc/{pid}/io") as file:
            fields = dict(line.split(": ") for line in file)
    except (OSError, ValueError):
        return None
    return cpu_s, int(fields["read_bytes"]), int(fields["rchar"])

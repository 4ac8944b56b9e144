"""Passes the grant on to the worker processes of an epoch."""

import itertools
import math
import threading

from penstock import _memory
from penstock._client import Client
from penstock._crew import Crew

_PERIOD_S = 0.1
_KNOWN_NS = 200_000_000  # of tasks
_NOISE = 0.25  # of a process


def processes_for(granted: int, busy: float | None, usual: int) -> int:
    """Returns how many processes keep as many CPUs as are granted busy; the
    usual number if that is unknown.

    busy: the part of its tasks' time that a process uses a CPU or waits for
    one. The rest it waits for storage, for example, and leaves its CPU to
    another process. None: unknown."""
    if not busy or busy <= 0:
        return usual
    return max(1, math.ceil(granted / min(busy, 1) - _NOISE))


class Follower:
    """A thread that follows the grant until close(). Without a grant, the
    crew's usual number of processes works. Does not hold the crew's
    iterator."""

    def __init__(self, client: Client, crew: Crew, pids: list[int]):
        """pids: the crew's processes. Raises RuntimeError if there is no
        thread."""
        self._client = client
        self._crew = crew
        self._pids = pids
        self._busy_ns = _busy_ns(pids)
        self._closed = threading.Event()
        thread = threading.Thread(target=self._run, name="penstock", daemon=True)
        thread.start()

    def close(self) -> None:
        self._closed.set()

    def _run(self) -> None:
        crew = self._crew
        for turn in itertools.count(1):
            if self._closed.wait(_PERIOD_S):
                return
            hint = self._client.hint()
            wanted = crew.usual
            if hint is not None:
                granted = hint.loader_threads
                wanted = processes_for(granted, self._busy(), crew.usual)
            crew.set_processes(wanted)
            # Rarely: the kernel takes a millisecond to read a size.
            if self._pids and turn & (turn - 1) == 0:
                size = _memory.process_bytes(self._pids[0])
                crew.worker_bytes = max(crew.worker_bytes, size)

    def _busy(self) -> float | None:
        tasks_ns = self._crew.tasks_ns()
        if tasks_ns < _KNOWN_NS:
            return None
        return (_busy_ns(self._pids) - self._busy_ns) / tasks_ns


def _busy_ns(pids: list[int]) -> int:
    """Returns the time on a CPU and the run delay of the processes' main
    threads."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/schedstat", "rb") as file:
                total += sum(map(int, file.read().split()[:2]))
        except (OSError, ValueError):
            pass  # it has ended
    return total

"""Measures the time that a thread has waited for a CPU."""

import os
import threading
import time

_READ_PERIOD_NS = 1_000_000


class OwnFile:
    """A file of the reading thread or process in /proc, kept open. Opened anew
    in a forked child, and when another thread reads."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._owner: tuple[int, int] | None = None
        self._fd = -1

    def __del__(self) -> None:
        self._close()

    def text(self) -> bytes:
        """Returns b"" if it cannot be read."""
        owner = (os.getpid(), threading.get_ident())
        if owner != self._owner:
            self._bind(owner)
        if self._fd < 0:
            return b""
        try:
            return os.pread(self._fd, 256, 0)
        except OSError:
            return b""

    def _bind(self, owner: tuple[int, int]) -> None:
        self._close()
        self._owner = owner
        try:
            self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1

    def _close(self) -> None:
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)


class RunDelay(OwnFile):
    """The run delay of the reading thread. A reading takes 2 us. The count
    restarts in a forked child, and when another thread reads."""

    def __init__(self) -> None:
        super().__init__("/proc/thread-self/schedstat")
        self._last_ns = 0

    def __reduce__(self) -> tuple:
        return RunDelay, ()

    def read_ns(self) -> int:
        """Returns the run delay since the thread began; 0: unknown."""
        try:
            return int(self.text().split()[1])
        except (IndexError, ValueError):
            return 0

    def lap_ns(self) -> int:
        """Returns the run delay since the last call in this thread; 0 for the
        first."""
        now_ns = self.read_ns()
        lap_ns = max(0, now_ns - self._last_ns)
        self._last_ns = max(now_ns, self._last_ns)
        return lap_ns

    def _bind(self, owner: tuple[int, int]) -> None:
        super()._bind(owner)
        self._last_ns = 0
        self._last_ns = self.read_ns()


class _Waits:
    """A thread's state: several watched loaders of it share one figure."""

    def __init__(self) -> None:
        self.delay = RunDelay()
        self.depth = 0
        self.pending_ns = 0
        self.waited_ns = 0  # run delay in the last wait
        self.read_ns = 0  # moment of the last reading

    def lap_ns(self, now_ns: int) -> int:
        """Reads at most once in 1 ms. Run delay in between belongs to the
        wait or the step in which the next reading falls."""
        if now_ns - self.read_ns < _READ_PERIOD_NS:
            return 0
        self.read_ns = now_ns
        return self.delay.lap_ns()


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.waits = _Waits()


_of_thread = _OfThread()


def _begin_anew() -> None:
    """Resets the state: a child forked during a wait does not wait."""
    global _of_thread
    _of_thread = _OfThread()


os.register_at_fork(after_in_child=_begin_anew)


def begin_wait() -> int:
    """Begins a wait of the calling thread for data. Waits may be nested.
    Returns its beginning, of time.monotonic_ns()."""
    waits, now_ns = _of_thread.waits, time.monotonic_ns()
    lap_ns = waits.lap_ns(now_ns)
    if waits.depth == 0:
        waits.pending_ns += lap_ns
    waits.depth += 1
    return now_ns


def end_wait() -> int:
    """Ends a wait. The run delay during the wait is part of the wait. Returns
    its end."""
    waits, now_ns = _of_thread.waits, time.monotonic_ns()
    waits.waited_ns = waits.lap_ns(now_ns)
    if waits.depth > 0:
        waits.depth -= 1
    return now_ns


def waited_delay_ns() -> int:
    """Returns the run delay during the thread's last wait."""
    return _of_thread.waits.waited_ns


def is_waiting() -> bool:
    return _of_thread.waits.depth > 0


def take_delay_ns() -> int:
    """Returns the thread's run delay outside its waits since the last call."""
    waits = _of_thread.waits
    pending_ns, waits.pending_ns = waits.pending_ns, 0
    return pending_ns

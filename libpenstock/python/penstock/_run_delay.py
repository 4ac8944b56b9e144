"""How long a thread has waited for a CPU."""

import os
import threading


class RunDelay:
    """The run delay of the thread that reads it, as the kernel counts it
    (/proc/thread-self/schedstat). A reading takes 2 us. A copy in a forked
    child, and one that another thread reads, starts anew."""

    def __init__(self) -> None:
        self._owner: tuple[int, int] | None = None
        self._fd = -1
        self._last_ns: int | None = None

    def __reduce__(self) -> tuple:
        return RunDelay, ()

    def __del__(self) -> None:
        self._close()

    def read_ns(self) -> int:
        """Since the thread began; 0: unknown."""
        self._bind()
        if self._fd < 0:
            return 0
        try:
            return int(os.pread(self._fd, 64, 0).split()[1])
        except (OSError, IndexError, ValueError):
            return 0

    def lap_ns(self) -> int:
        """Since the last call in this thread; 0 for the first."""
        now_ns = self.read_ns()
        last_ns, self._last_ns = self._last_ns, now_ns
        return 0 if last_ns is None else max(0, now_ns - last_ns)

    def _bind(self) -> None:
        """The kernel's file is that of the thread that opens it."""
        owner = (os.getpid(), threading.get_ident())
        if owner == self._owner:
            return
        self._close()
        self._owner = owner
        self._last_ns = None
        try:
            path = "/proc/thread-self/schedstat"
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1

    def _close(self) -> None:
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)

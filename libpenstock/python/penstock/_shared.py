"""Counters that worker processes increment and their parent reads."""

import mmap
import os


class SharedWords:
    """Rows of 8-byte words, initially zero, shared by this process and its
    children.

    Forked children inherit the memory. Spawned children get it pickled; without
    access to their parent they count in memory that nobody reads. One writer
    per row. The memory is closed when the object is dropped."""

    def __init__(self, rows: int, columns: int):
        self.columns = columns
        self._fd = os.memfd_create("penstock", os.MFD_CLOEXEC)
        size = max(1, rows * columns) * 8
        os.ftruncate(self._fd, size)
        self._map(mmap.mmap(self._fd, size))

    def _map(self, memory: mmap.mmap) -> None:
        self.memory = memory
        self.words = memoryview(memory).cast("Q")

    def __del__(self):
        if getattr(self, "_fd", -1) >= 0:
            os.close(self._fd)
            self._fd = -1

    def totals(self) -> list[int]:
        """Returns the sum of each column."""
        words, columns = self.words.tolist(), self.columns
        if len(words) == columns:
            return words
        return [sum(words[column::columns]) for column in range(columns)]

    def __reduce__(self) -> tuple:
        inode = os.fstat(self._fd).st_ino
        size = len(self.memory)
        return _reopen, (os.getpid(), self._fd, inode, size, self.columns)


def _reopen(
    pid: int, fd: int, inode: int, size: int, columns: int
) -> SharedWords:
    shared = SharedWords.__new__(SharedWords)
    shared.columns = columns
    shared._fd = -1
    shared._map(_parents_memory(pid, fd, inode, size) or mmap.mmap(-1, size))
    return shared


def _parents_memory(
    pid: int, fd: int, inode: int, size: int
) -> mmap.mmap | None:
    try:
        own = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(own)
        if (status.st_ino, status.st_size) != (inode, size):
            return None
        return mmap.mmap(own, size)
    except (OSError, ValueError):
        return None
    finally:
        os.close(own)

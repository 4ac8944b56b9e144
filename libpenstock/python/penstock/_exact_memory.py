"""Memory, a lock and bells that a trainer and its worker processes share."""

import fcntl
import mmap
import os
import pickle
import select
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock._exact_board import Board

# Places in a sparse file: only what is written takes memory.
_PLACE_BYTES = 1 << 24  # of a task
_STATE_BYTES = 1 << 20  # of a worker's streams
_REASON_BYTES = 512
_WORD_BYTES = 8
_LENGTH = struct.Struct("q")
_FIRST_READ_BYTES = 1 << 14


class SharedMemory:
    """Processes get it by fork, or pickled while they are started.

    A process that dies holds no lock any more. Methods may raise OSError."""

    def __init__(self, workers: int, slots: int):
        self._words = Board.size_words(workers, slots)
        self._workers = workers
        self._creator = 0
        self._fds = [os.memfd_create("penstock", os.MFD_CLOEXEC)]
        try:
            os.ftruncate(self._fds[0], self._head_bytes())
            for _ in range(workers):
                flags = os.EFD_CLOEXEC | os.EFD_NONBLOCK
                self._fds.append(os.eventfd(0, flags))
        except OSError:
            self._close()
            raise
        self._open()
        self._creator = os.getpid()

    def _head_bytes(self) -> int:
        page = mmap.PAGESIZE
        return -(-self._words * _WORD_BYTES // page) * page

    def _open(self) -> None:
        size = self._head_bytes()
        words = memoryview(mmap.mmap(self._fds[0], size)).cast("q")
        self.board = Board(words[: self._words], self._workers)

    def _close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def end(self) -> None:
        """For the trainer, once or more: tells all processes."""
        if self._creator == os.getpid():  # not a forked copy
            self.board.end()
            self.ring_all()

    def __del__(self):
        # Among garbage with torch's iterator it may be the first to go.
        self.end()
        self._close()

    def __getstate__(self) -> tuple:
        from multiprocessing import reduction

        fds = [reduction.DupFd(fd) for fd in self._fds]
        return self._words, self._workers, fds

    def __setstate__(self, state: tuple) -> None:
        self._words, self._workers, fds = state
        self._creator = 0
        self._fds = [fd.detach() for fd in fds]
        self._open()

    @contextmanager
    def locked(self) -> Iterator[None]:
        try:
            fcntl.lockf(self._fds[0], fcntl.LOCK_EX)
            yield
        finally:
            fcntl.lockf(self._fds[0], fcntl.LOCK_UN)

    def wake(self) -> None:
        """For the trainer, which does not wait for the lock: rings a process
        that has a task to do, or all."""
        try:
            fcntl.lockf(self._fds[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
            process = self.board.wake()
        except OSError:
            self.ring_all()
            return
        finally:
            fcntl.lockf(self._fds[0], fcntl.LOCK_UN)
        if process is not None:
            self.ring(process)

    def ring(self, process: int) -> None:
        os.eventfd_write(self._fds[1 + process], 1)

    def ring_all(self) -> None:
        for bell in self._fds[1:]:
            os.eventfd_write(bell, 1)

    def wait(self, process: int, timeout_s: float) -> None:
        """Waits for the process's bell."""
        bell = self._fds[1 + process]
        poll = select.poll()
        poll.register(bell, select.POLLIN)
        if poll.poll(timeout_s * 1000):
            os.eventfd_read(bell)

    def write_streams(self, worker: int, streams: bytes) -> None:
        self._write(self._head_bytes() + worker * _STATE_BYTES, streams)

    def read_streams(self, worker: int) -> bytes:
        return self._read(self._head_bytes() + worker * _STATE_BYTES)

    def write_reason(self, process: int, reason: str) -> None:
        data = reason.encode(errors="replace")[:_REASON_BYTES]
        self._write(self._reason_place(process), data)

    def read_reason(self, process: int) -> str:
        data = self._read(self._reason_place(process))
        return data.decode(errors="replace")

    def open_task(self, number: int, worker: int, indices: Any) -> None:
        """For the trainer. Raises ValueError for indices of more than 16
        MB."""
        data = pickle.dumps(indices, pickle.HIGHEST_PROTOCOL)
        if len(data) > _PLACE_BYTES - _LENGTH.size:
            raise ValueError(
                f"the indices of a batch take {len(data)} bytes; at most "
                f"{_PLACE_BYTES - _LENGTH.size} are possible"
            )
        slot = self.board.free_slot()
        self._write(self._place(slot), data)
        word, entry = self.board.slot_entry(slot, number, worker)
        # A system call, so that other CPUs see the task before the word.
        os.pwrite(self._fds[0], _LENGTH.pack(entry), word * _WORD_BYTES)

    def read_task(self, slot: int) -> Any:
        return pickle.loads(self._read(self._place(slot)))

    def _reason_place(self, process: int) -> int:
        end = self._head_bytes() + (process + 1) * _STATE_BYTES
        return end - _REASON_BYTES - _LENGTH.size

    def _place(self, slot: int) -> int:
        states = self._workers * _STATE_BYTES
        return self._head_bytes() + states + slot * _PLACE_BYTES

    def _write(self, place: int, data: bytes) -> None:
        os.pwrite(self._fds[0], _LENGTH.pack(len(data)) + data, place)

    def _read(self, place: int) -> bytes:
        head = os.pread(self._fds[0], _FIRST_READ_BYTES, place)
        end = _LENGTH.size + _LENGTH.unpack_from(head)[0]
        if end > len(head):
            head += os.pread(self._fds[0], end - len(head), place + len(head))
        return head[_LENGTH.size : end]

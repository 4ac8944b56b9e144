"""Memory, a lock and bells that a trainer and its worker processes share."""

import mmap
import os
import pickle
import select
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock._crew_board import Board

# Sizes in a sparse file: only what is written takes memory.
_PLACE_BYTES = 1 << 16  # of a worker's streams, and of a task's first part
_REST_BYTES = 1 << 28  # of the rest of a task, which is not mapped
_REASON_BYTES = 512  # at the end of the place of a worker's streams
_WORD_BYTES = 8
_LENGTH = struct.Struct("q")
_LOCK_WAIT_S = 1


class SharedMemory:
    """Processes get it by fork, or pickled while they are started. Methods may
    raise OSError.

    In a process no method lets go of Python's lock, except to wait: its thread
    that sends batches would take it, and keep the process from its work."""

    def __init__(self, workers: int, slots: int, lock: Any):
        """lock: a Lock of the processes' multiprocessing context."""
        self._words = Board.size_words(workers, slots)
        self._workers = workers
        self._places = workers + slots
        self._lock = lock
        self._creator = 0
        self._fds: list[int] = []  # the memory, and each process's bell
        self._fds.append(os.memfd_create("penstock", os.MFD_CLOEXEC))
        os.ftruncate(self._fds[0], self._place(self._places))
        for _ in range(workers):
            flags = os.EFD_CLOEXEC | os.EFD_NONBLOCK
            self._fds.append(os.eventfd(0, flags))
        self._open()
        self._creator = os.getpid()

    def _open(self) -> None:
        self._map = mmap.mmap(self._fds[0], self._place(self._places))
        words = memoryview(self._map).cast("q")
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

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing import reduction

        fds = [reduction.DupFd(fd) for fd in self._fds]
        own = {"_fds": fds, "_creator": 0, "_map": None, "board": None}
        return self.__dict__ | own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fds = [fd.detach() for fd in state["_fds"]]
        self._open()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """For a process. If one was killed that held the lock, raises
        KeyboardInterrupt after the trainer has ended the epoch: torch's loop
        ends quietly then."""
        parent = os.getppid()
        while not self._lock.acquire(True, _LOCK_WAIT_S):
            if self.board.ended or os.getppid() != parent:
                raise KeyboardInterrupt
        try:
            yield
        finally:
            self._lock.release()

    def wake(self) -> None:
        """For the trainer, which does not wait for the lock: rings a process
        that has a task to do, or all that work."""
        if not self._lock.acquire(False):
            for process in range(self.board.processes()):
                self.ring(process)
            return
        try:
            process = self.board.wake()
        finally:
            self._lock.release()
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
        """Raises ValueError for more than 64 KB; they have 11.5."""
        begin = self._place(worker)
        end = begin + _LENGTH.size + len(streams)
        if end > self._place(worker + 1) - _REASON_BYTES:
            raise ValueError(f"random streams of {len(streams)} bytes")
        self._map[begin:end] = _LENGTH.pack(len(streams)) + streams

    def read_streams(self, worker: int) -> bytes:
        return self._read(self._place(worker))

    def write_reason(self, process: int, reason: str) -> None:
        data = reason.encode(errors="replace")[: _REASON_BYTES - _LENGTH.size]
        begin = self._place(process + 1) - _REASON_BYTES
        end = begin + _LENGTH.size + len(data)
        self._map[begin:end] = _LENGTH.pack(len(data)) + data

    def read_reason(self, process: int) -> str:
        data = self._read(self._place(process + 1) - _REASON_BYTES)
        return data.decode(errors="replace")

    def open_task(self, number: int, worker: int, indices: Any) -> None:
        """For the trainer. Raises ValueError for indices of more than 256
        MB."""
        data = pickle.dumps(indices, pickle.HIGHEST_PROTOCOL)
        if len(data) > _REST_BYTES:
            raise ValueError(
                f"the indices of a batch take {len(data)} bytes; at most "
                f"{_REST_BYTES} are possible"
            )
        slot = self.board.free_slot()
        data = _LENGTH.pack(len(data)) + data
        os.pwrite(self._fds[0], data[:_PLACE_BYTES], self._task_place(slot))
        os.pwrite(self._fds[0], data[_PLACE_BYTES:], self._rest_place(slot))
        word, entry = self.board.slot_entry(slot, number, worker)
        # A system call, so that other CPUs see the task before the word.
        os.pwrite(self._fds[0], _LENGTH.pack(entry), word * _WORD_BYTES)

    def read_task(self, slot: int) -> Any:
        place = self._task_place(slot)
        data = self._read(place)
        rest = _LENGTH.unpack_from(self._map, place)[0] - len(data)
        if rest > 0:
            data += os.pread(self._fds[0], rest, self._rest_place(slot))
        return pickle.loads(data)

    def _read(self, place: int) -> bytes:
        begin = place + _LENGTH.size
        length = _LENGTH.unpack_from(self._map, place)[0]
        return self._map[begin : min(begin + length, place + _PLACE_BYTES)]

    def _place(self, worker: int) -> int:
        head = -(-self._words * _WORD_BYTES // _PLACE_BYTES) * _PLACE_BYTES
        return head + worker * _PLACE_BYTES

    def _task_place(self, slot: int) -> int:
        return self._place(self._workers + slot)

    def _rest_place(self, slot: int) -> int:
        return self._place(self._places) + slot * _REST_BYTES

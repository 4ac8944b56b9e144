"""The trainer's side of elastic worker processes."""

import inspect
import os
import threading
from multiprocessing.context import BaseContext
from typing import Any, NamedTuple

from penstock import _crew_worker
from penstock._crew_memory import SharedMemory


class CrewPlan(NamedTuple):
    seat: type[_crew_worker.Seat]
    workers: int  # processes
    prefetch: int  # open batches of each
    usual: int  # processes that work at first, and without a grant
    skipped: int = 0  # batches of the epoch before the first task


class Crew:
    """The processes of one epoch. Any thread may call any method."""

    def __init__(self, plan: CrewPlan, base: Any):
        """base: the multiprocessing context of the processes."""
        self.workers = plan.workers
        self.usual = plan.usual
        self.seat = plan.seat
        slots = (plan.prefetch + 1) * plan.workers  # tasks open at once
        self.memory = SharedMemory(plan.workers, slots, base.Lock())
        self.memory.board.begin(plan.seat.any_process, plan.skipped)
        self.memory.board.wanted = plan.usual
        self.worker_bytes = 0  # memory of one process, the largest seen
        self._creator = os.getpid()
        # Garbage collection may end a crew inside its own methods.
        self._lock = threading.RLock()

    def set_processes(self, count: int) -> None:
        """Lets count processes work, between one and the number of workers.
        Others stop after the batch that they are at. Does not block."""
        board = self.memory.board
        with self._lock:
            before, board.wanted = board.wanted, count
            if board.wanted != before:
                self.memory.ring_all()

    def processes(self) -> int:
        """Returns the number of processes that work, or will after the batch
        they are at."""
        return self.memory.board.processes()

    def tasks_ns(self) -> int:
        """Returns the time that the processes have spent in their tasks so
        far."""
        return self.memory.board.tasks_ns()

    def why_fixed(self) -> str | None:
        """Returns why all processes work, whatever was set; None if the number
        varies, or will after the first batches."""
        for worker in self.memory.board.stateful_workers():
            return self.memory.read_reason(worker)
        return None

    def open_task(self, number: int, worker: int, indices: Any) -> None:
        with self._lock:
            self.memory.open_task(number, worker, indices)
            self.memory.wake()

    def end(self) -> None:
        """Has no effect in a forked child, where the lock may be held."""
        if os.getpid() == self._creator:
            with self._lock:
                self.memory.end()


class TaskQueue:
    """What torch takes for the index_queue of one worker."""

    def __init__(self, crew: Crew, worker: int):
        self._crew = crew
        self._worker = worker

    def put(self, item: "tuple[int, Any] | None") -> None:
        if item is None:  # shutdown, or a process died
            self._crew.end()
        else:
            number, indices = item
            self._crew.open_task(number, self._worker, indices)

    def cancel_join_thread(self) -> None:
        pass

    def close(self) -> None:
        pass


class CrewContext(BaseContext):
    """The multiprocessing context that torch's own iterator gets: worker
    processes and their result queue as ever, but tasks by the crew."""

    def __init__(self, base: Any, crew: Crew, loop: Any):
        """base: the loader's own context; loop: torch's _worker_loop."""
        self._base = base
        self._crew = crew
        self._loop = loop
        self._results: Any = None
        self._queues: list[TaskQueue] = []

    def Event(self) -> Any:
        return self._base.Event()

    def Queue(self, maxsize: int = 0) -> Any:
        if self._results is None:
            self._results = self._base.Queue(maxsize)
            return self._results
        self._queues.append(TaskQueue(self._crew, len(self._queues)))
        return self._queues[-1]

    def Process(self, *, target: Any, args: tuple) -> Any:
        """Raises TypeError if torch starts its workers in another way than
        expected."""
        parts = inspect.signature(self._loop).bind(*args).arguments
        worker = len(self._queues) - 1
        expected = {
            "worker_id": worker,
            "num_workers": self._crew.workers,
            "data_queue": self._results,
            "index_queue": self._queues[worker],
        }
        needed = expected.keys() | set(self._crew.seat.parts)
        if (
            target is not self._loop
            or not needed <= parts.keys()
            or any(parts[name] is not expected[name] for name in expected)
        ):
            raise TypeError("torch starts its workers in an unknown way")
        seat = self._crew.seat(worker, self._crew.memory, self._results)
        parts["index_queue"] = parts["data_queue"] = seat
        return self._base.Process(
            target=_crew_worker.run, args=(seat, dict(parts))
        )

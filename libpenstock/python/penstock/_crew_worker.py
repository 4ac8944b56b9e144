"""What a worker process of an elastic DataLoader does around torch's loop."""

import queue
import sys
import time
from typing import Any, ClassVar

from penstock._crew_board import Task
from penstock._crew_memory import SharedMemory


def run(seat: "Seat", parts: dict[str, Any]) -> None:
    """The process's main function.

    parts: the arguments of torch's _worker_loop, which then takes its tasks
    from the seat and puts the batches there."""
    import torch.utils.data._utils.worker as torch_worker

    seat.begin(parts)
    torch_worker._worker_loop(**parts)


class Seat:
    """One process: it is torch's index_queue and data_queue in there. A
    subclass decides what happens between two tasks."""

    any_process: ClassVar[bool]  # as in Board.begin()
    parts: ClassVar[tuple[str, ...]] = ("done_event",)  # that begin() needs

    def __init__(self, number: int, memory: SharedMemory, results: Any):
        self._number = number
        self._memory = memory
        self._results = results
        self._failed = False  # the last task
        self._begun_ns = 0  # when the task began; 0: there is none

    def begin(self, parts: dict[str, Any]) -> None:
        self._done_event = parts["done_event"]

    def get(self, timeout: float) -> Any:
        """Returns the next (number, indices), or None at the end. Raises
        queue.Empty."""
        self._end_task()
        task = self._take()
        if task is None and not self._memory.board.ended:
            self._memory.wait(self._number, timeout)
            task = self._take()
        if self._memory.board.ended:
            if not self._done_event.is_set():
                raise KeyboardInterrupt  # a quiet end, as torch's loop does it
            return None
        if task is None:
            raise queue.Empty
        self._enter(task)
        indices = self._memory.read_task(task.slot)
        self._memory.board.release(task.slot)
        self._begun_ns = time.monotonic_ns()
        return task.number, indices

    def put(self, result: tuple[int, Any]) -> None:
        error = sys.modules["torch._utils"].ExceptionWrapper
        self._failed = isinstance(result[1], error)
        if self._failed:
            self._name_worker(result[1])
        self._results.put(result)

    def cancel_join_thread(self) -> None:
        self._results.cancel_join_thread()

    def close(self) -> None:
        self._results.close()

    def _end_task(self) -> None:
        if self._begun_ns:
            spent_ns = time.monotonic_ns() - self._begun_ns
            self._memory.board.add_time(self._number, spent_ns)
            self._begun_ns = 0

    def _take(self) -> Task | None:
        raise NotImplementedError

    def _enter(self, task: Task) -> None:
        """Before the process reads the task."""
        raise NotImplementedError

    def _name_worker(self, failure: Any) -> None:
        """Corrects the worker in the message of a failed task."""

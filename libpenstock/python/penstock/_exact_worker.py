"""A worker process that changes no bit of its batches."""

import sys
from typing import Any

from penstock import _exact_streams
from penstock._crew_board import Task
from penstock._crew_memory import SharedMemory
from penstock._crew_worker import Seat
from penstock._exact_state import Look
from penstock._split import untimed


class StateWatch:
    """Looks for changes of the dataset: after each task until one has changed
    nothing, then more and more rarely."""

    def __init__(self, dataset: Any, collate: Any):
        self._roots = dataset, collate
        self._calls = 0
        self.settled = False
        self._last = Look(*self._roots)

    def changed(self, failed: bool) -> str | None:
        """After worker_init_fn, and after each task. Returns why the dataset
        counts as one with state."""
        self._calls += 1
        if failed and not self.settled:
            return "the first batch of a worker failed"
        if self.settled and self._calls & (self._calls - 1):
            return None
        try:
            look = Look(*self._roots)
        except Exception as error:
            return f"looking at the dataset failed: {error!r}"
        if look.generator is not None:
            return f"{look.generator} has got a random generator"
        place, last, self._last = look.changed(self._last), self._last, look
        if self._calls == 1 and not look.is_settled(last):
            return "worker_init_fn gives the dataset attributes"
        # Attributes that have just got a value may get another one.
        self.settled |= self._calls > 1 and look.is_settled(last)
        return place and f"the dataset changes {place}"


class ExactSeat(Seat):
    """Between two tasks it exchanges the random streams and torch's worker_info
    of one worker for those of another."""

    any_process = False
    parts = ("dataset", "collate_fn", "done_event")

    def __init__(self, number: int, memory: SharedMemory, results: Any):
        super().__init__(number, memory, results)
        self._streams_of = number  # the worker whose streams the process has
        self._stored = False  # they are also in memory
        self._running: int | None = number
        # The task is the worker's second in succession; true at first, when
        # none was done before.
        self._is_second = True

    def begin(self, parts: dict[str, Any]) -> None:
        super().begin(parts)
        self._watch = StateWatch(*untimed(parts["dataset"], parts["collate_fn"]))
        self._infos: dict[int, Any] = {}

    def _end_task(self) -> None:
        super()._end_task()
        self._judge()

    def _name_worker(self, failure: Any) -> None:
        failure.where = failure.where.replace(
            f"process {self._number}", f"process {self._running}"
        )

    def _judge(self) -> None:
        if self._running is None:
            return
        settled = self._watch.settled
        reason = self._watch.changed(self._failed)
        if reason is None and self._watch.settled == settled:
            return
        if reason is not None:
            self._memory.write_reason(self._number, reason)
        board = self._memory.board
        with self._memory.locked():
            before = board.processes()
            board.judge(self._number, reason is None)
            after = board.processes()
        if after != before:
            self._memory.ring_all()

    def _take(self) -> Task | None:
        task = self._take_again()
        self._is_second = task is not None
        if task is None:
            task = self._take_next()
        self._running = task and task.worker
        return task

    def _take_again(self) -> Task | None:
        """Every second task is of the worker before: no streams are exchanged,
        and other workers do not wait for long."""
        if self._running is None or self._is_second:
            return None
        board = self._memory.board
        with self._memory.locked():
            board.finish(self._running)
            task = board.take_again(self._number, self._running)
        self._running = None
        return task

    def _take_next(self) -> Task | None:
        board = self._memory.board
        at_home = self._streams_of == self._number
        if not self._stored and not (at_home and board.all_work()):
            self._store()
        with self._memory.locked():
            if self._stored:
                board.store(self._streams_of, self._number)
            if self._running is not None:
                board.finish(self._running)
            task = board.take(self._number)
            wake = board.wake()
        if wake is not None:
            self._memory.ring(wake)
        return task

    def _store(self) -> None:
        streams = _exact_streams.save()
        self._memory.write_streams(self._streams_of, streams)
        self._stored = True

    def _enter(self, task: Task) -> None:
        if task.worker != self._streams_of and not self._stored:
            self._store()
            with self._memory.locked():
                self._memory.board.store(self._streams_of, self._number)
        if task.moved or task.worker != self._streams_of:
            _exact_streams.load(self._memory.read_streams(task.worker))
            self._show_info(task.worker)
        self._streams_of, self._stored = task.worker, False

    def _show_info(self, worker: int) -> None:
        module = sys.modules["torch.utils.data._utils.worker"]
        if not self._infos:
            self._infos[self._number] = module._worker_info
        info = self._infos.get(worker)
        if info is None:
            own = self._infos[self._number]
            info = self._infos[worker] = type(own)(
                id=worker,
                num_workers=own.num_workers,
                seed=own.seed - own.id + worker,
                dataset=own.dataset,
            )
        module._worker_info = info

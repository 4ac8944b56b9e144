"""Measures one pass over a DataLoader, in the process that trains."""

import time
from typing import TYPE_CHECKING, Any

from penstock._batch import batch_samples
from penstock._clone import worker_pids
from penstock._crew import Crew
from penstock._follow import Follower
from penstock._lengths import take_length
from penstock._run_delay import (
    begin_wait,
    end_wait,
    take_delay_ns,
    waited_delay_ns,
)
from penstock._split import Split
from penstock._training import TRAINS, Turn

if TYPE_CHECKING:
    from penstock._instrument import Process


class Pass:
    """Its workers stay registered until it is exhausted, closed or dropped. A
    failed batch ends nothing, because the iterator may continue."""

    def __init__(
        self,
        process: "Process",
        turn: Turn,
        iterator: Any,
        split: Split | None,
        crew: Crew | None,
        batch_size: Any,
        loads_itself: bool,
    ):
        """loads_itself: the training thread prepares the batches."""
        self.process = process
        self.loader: Any = None  # for penstock analyze
        self.batch_size = batch_size  # attribute name of a loader
        self._turn = turn
        self._split = split
        self._told = False
        self._begin_ns = self._extra_ns = self._cpu_ns = 0
        self._loads_itself = loads_itself and split is None
        self._pids = worker_pids(iterator)
        for pid in self._pids:
            process.client.register(pid)
        self._grows = crew is not None and crew.workers > crew.usual
        self._follower = (
            Follower(process.client, crew, self._pids) if crew else None
        )
        if turn.tally.marked:
            self._tell_workers()

    @property
    def trains(self) -> bool:
        return self._turn.tally.role == TRAINS

    @property
    def is_open(self) -> bool:
        return self._turn.open

    def started(self, begin_ns: int) -> None:
        """The start of the workers counts as a wait for the first batch."""
        self._extra_ns = time.monotonic_ns() - begin_ns

    def begin(self) -> None:
        self._begin_ns = begin_wait()
        if self._loads_itself:
            self._cpu_ns = time.process_time_ns()

    def end(self, batch: object, iterator: Any) -> None:
        wait_ns = end_wait() - self._begin_ns
        samples = take_length(iterator)
        if samples is None:
            samples = batch_samples(batch, self)
        split = self._split.take() if self._split else None
        if self._loads_itself:
            split = self._own_loading(samples, wait_ns)
        wait_ns += self._extra_ns
        self._extra_ns = 0
        process, turn = self.process, self._turn
        with process.lock:
            process.training.batch(
                turn, samples, wait_ns, split, take_delay_ns()
            )
        if not self._told and self.trains:
            self._tell_workers()

    def _own_loading(self, samples: int, wait_ns: int) -> dict[str, int]:
        """Returns the split of a batch: while the process did not compute, and
        the thread did not wait for a CPU, it waited for its data. Threads of
        the data set compute, too."""
        cpu_ns = time.process_time_ns() - self._cpu_ns
        fetch_ns = max(0, wait_ns - cpu_ns - waited_delay_ns())
        return {
            "fetch_ns": fetch_ns,
            "prep_ns": cpu_ns,
            "prepared": samples,
        }

    def fail(self, is_over: bool) -> None:
        end_wait()
        if is_over:
            self.close()

    def close(self) -> None:
        self._turn.open = False
        if self._follower:
            self._follower.close()
        pids, self._pids = self._pids, []
        for pid in pids:
            self.process.client.unregister(pid)

    def __del__(self) -> None:
        self.close()

    def _tell_workers(self) -> None:
        self._told = True
        self.process.client.report(
            loader_threads=len(self._pids), follows_hint=self._grows
        )

"""Loads samples during an analysis, in the loading process: a worker or,
without workers, the trainer."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from penstock._analysis_files import (
    Notes,
    drop_held,
    sample_files,
    watcher,
)
from penstock._clone import DatasetProxy, load_batch

NO_END = 1 << 62


class Order(NamedTuple):
    """The way of loading samples.

    | generation: grows with every new order.
    cold: drop samples' files from the page cache before reading them.
    subset: samples before a restart; for a split stream, of one worker."""

    generation: int = 0
    cold: bool = False
    subset: int = NO_END


class Indices:
    """The indices of a batch, or the index of a sample. turn: grows whenever
    open files are to be dropped."""

    def __init__(self, indices: Any, cold: bool, turn: int):
        self.indices = indices
        self.cold = cold
        self.turn = turn

    def __iter__(self) -> Iterator["Indices"]:
        """For torch releases that request samples one by one."""
        for index in self.indices:
            yield Indices(index, self.cold, self.turn)

    def __len__(self) -> int:
        return len(self.indices)


class FedSamples(DatasetProxy):
    """A map-style dataset that takes Indices."""

    __slots__ = ()

    def __getitem__(self, work: Indices) -> Any:
        dataset, files = self._penstock_dataset, self._penstock_part
        files.take_turn(work.turn)
        with files.loading([work.indices], work.cold):
            return dataset[work.indices]

    def __getitems__(self, work: Indices) -> Any:
        dataset, files = self._penstock_dataset, self._penstock_part
        files.take_turn(work.turn)
        with files.loading(work.indices, work.cold):
            return load_batch(dataset, work.indices)


class SampleFiles:
    """The files that samples read, in the loading process."""

    def __init__(self, dataset: Any, notes: Notes):
        self._dataset = dataset
        self._notes = notes
        self._find: Callable | None = None
        self._looked = False
        self._turn = 0

    def __reduce__(self) -> tuple:
        return SampleFiles, (self._dataset, self._notes)

    def take_turn(self, turn: int) -> None:
        if turn != self._turn:
            self._turn = turn
            drop_held()

    @contextlib.contextmanager
    def loading(self, indices: Iterable[Any], cold: bool) -> Iterator[None]:
        watcher.begin(self._notes, cold)
        try:
            if cold:
                self._drop_known(indices)
            yield
        finally:
            watcher.end()

    def _drop_known(self, indices: Iterable[Any]) -> None:
        """Drops the samples' listed files, because not every file is opened
        through Python."""
        if not self._looked:
            self._find = sample_files(self._dataset)
            self._looked = True
        if self._find is None:
            return
        for index in indices:
            try:
                path = self._find(index)
            except Exception:  # an unsupported index
                continue
            if path:
                watcher.drop(path)


class Endless:
    """Iterates over a source again and again, as the current order
    specifies."""

    def __init__(
        self,
        source: Any,
        notes: Notes,
        order: Callable[[], Order],
        weigh: Callable[[Any], int] = lambda item: 1,
    ):
        self._source = source
        self._notes = notes
        self._order = order
        self._weigh = weigh
        self._generation = order().generation
        self._taken = 0
        self.iterator = iter(source)
        self.can_restart = self.iterator is not source

    def __iter__(self) -> "Endless":
        return self

    def __next__(self) -> Any:
        order = self._order()
        used_up = self._taken >= order.subset
        if self.can_restart and (
            used_up or order.generation != self._generation
        ):
            self._restart(order)
        watcher.begin(self._notes, order.cold)
        try:
            item = self._next(order)
        finally:
            watcher.end()
        self._taken += self._weigh(item)
        return item

    def _next(self, order: Order) -> Any:
        try:
            return next(self.iterator)
        except StopIteration:
            if self._taken == 0 or not self.can_restart:
                raise
        self._restart(order)
        return next(self.iterator)

    def _restart(self, order: Order) -> None:
        self._generation = order.generation
        self._taken = 0
        if order.cold:
            drop_held()
        self.iterator = iter(self._source)


# The order of the last index. A worker unpickles it right before it loads the
# batch. Without workers it is set when the index is drawn.
_order = Order()


def _set_order(order: Order) -> None:
    global _order
    _order = order


class StreamIndex:
    """The index of a stream's batch; torch uses only its size."""

    def __init__(self, samples: int, order: Order):
        _set_order(order)
        self._samples = samples
        self._order = order

    def __reduce__(self) -> tuple:
        return StreamIndex, (self._samples, self._order)

    def __iter__(self) -> Iterator[None]:
        return iter([None] * self._samples)

    def __len__(self) -> int:
        return self._samples


class FedStream(DatasetProxy):
    """An IterableDataset under analysis."""

    __slots__ = ()

    def __iter__(self) -> Endless:
        return Endless(
            self._penstock_dataset, self._penstock_part, lambda: _order
        )

"""Splits a DataLoader's time into fetching and preparing."""

import multiprocessing
import weakref
from collections.abc import Callable, Iterator
from operator import sub
from typing import Any

from penstock._batch import batch_samples
from penstock._clone import (
    DatasetProxy,
    WorkerStart,
    clone,
    is_iterable_style,
    load_batch,
    why_not_cloned,
)
from penstock._pages import LOADED
from penstock._shared import SharedWords
from penstock._stopwatch import Stopwatch


class _TimedSamples(DatasetProxy):
    """A map-style dataset that is timed. The watch stops when the batch is
    collated."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        watch = self._penstock_part
        watch.begin()
        try:
            return self._penstock_dataset[index]
        except BaseException:
            watch.drop()
            raise

    def __getitems__(self, indices: Any) -> Any:
        watch = self._penstock_part
        watch.begin()
        try:
            return load_batch(self._penstock_dataset, indices)
        except BaseException:
            watch.drop()
            raise


class _TimedStream(DatasetProxy):
    """An IterableDataset that is timed."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        watch = self._penstock_part
        watch.drop()  # samples left over from an earlier epoch
        return _TimedIterator(iter(self._penstock_dataset), watch)


class _TimedIterator:
    def __init__(self, iterator: Iterator[Any], watch: Stopwatch):
        self._next = iterator.__next__
        self._watch = watch

    def __iter__(self) -> "_TimedIterator":
        return self

    def __next__(self) -> Any:
        self._watch.begin()
        try:
            return self._next()
        except StopIteration:  # the batch may be collated as it is
            raise
        except BaseException:
            self._watch.drop()
            raise


class _TimedCollate:
    def __init__(self, collate: Any, watch: Stopwatch, loader: Any):
        self._collate = collate
        self._watch = watch
        self.batch_size = loader.batch_size  # attribute name of a loader
        self._takes_samples = loader.batch_sampler is not None

    def __call__(self, samples: Any) -> Any:
        try:
            batch = self._collate(samples)
        except BaseException:
            self._watch.drop()
            raise
        if self._takes_samples and isinstance(samples, list):
            self._watch.end(len(samples))
        else:
            self._watch.end(batch_samples(batch, self))
        return batch


def untimed(dataset: Any, collate: Any) -> tuple[Any, Any]:
    """Returns the user's own dataset and collate_fn."""
    if issubclass(type(dataset), (_TimedSamples, _TimedStream)):
        dataset = dataset._penstock_dataset
    if type(collate) is _TimedCollate:
        collate = collate._collate
    return dataset, collate


class Split:
    """Time of one iterator's loader that is not reported yet."""

    def __init__(self, sums: SharedWords):
        self._sums = sums
        self._told = [0] * len(LOADED)

    def take(self) -> dict[str, int]:
        """Returns the increments since the last call."""
        totals = self._sums.totals()
        if totals == self._told:
            return {}
        told, self._told = self._told, totals
        return dict(zip(LOADED, map(sub, totals, told)))


# Persistent workers serve iterators of later epochs.
_splits: "weakref.WeakKeyDictionary[Any, Split]" = weakref.WeakKeyDictionary()


def can_split(loader: Any, always: bool) -> bool:
    """Returns whether the split does not affect the batches.

    always: also where it takes microseconds of the trainer's time, or where
    workers import penstock. Only then must the program have imported it."""
    if why_not_cloned(loader) is not None:
        return False
    return always or (loader.num_workers > 0 and _forks(loader))


def _forks(loader: Any) -> bool:
    context = loader.multiprocessing_context or multiprocessing
    method = context.get_start_method(allow_none=True)
    return (method or multiprocessing.get_all_start_methods()[0]) == "fork"


def start_iterator(
    loader: Any, start: Callable[[Any], Iterator[Any]], workers: int
) -> tuple[Iterator[Any], Split | None]:
    """Returns the iterator that start() returns for a loader that can_split(),
    with split times if possible. workers: processes that it may start."""
    if getattr(loader, "_iterator", None) is not None:
        iterator = start(loader)  # its workers exist already
        return iterator, _splits.get(iterator)
    try:
        timed, split = _timed(loader, workers)
        iterator = start(timed)
    except Exception:  # the loader's own error is raised again
        return start(loader), None
    if getattr(timed, "_iterator", None) is not None:
        loader._iterator = timed._iterator  # as torch's __iter__ would
    _splits[iterator] = split
    return iterator, split


def _timed(loader: Any, workers: int) -> tuple[Any, Split]:
    sums = SharedWords(max(1, workers), len(LOADED))
    watch = Stopwatch(sums)
    proxy = _TimedStream if is_iterable_style(loader) else _TimedSamples
    parts = {
        "dataset": proxy(loader.dataset, watch),
        "collate_fn": _TimedCollate(loader.collate_fn, watch, loader),
    }
    if loader.num_workers > 0:
        parts["worker_init_fn"] = WorkerStart(loader.worker_init_fn, watch)
    return clone(loader, **parts), Split(sums)

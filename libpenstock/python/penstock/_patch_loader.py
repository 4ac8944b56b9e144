"""Patches the methods through which every batch of a DataLoader goes."""

import functools
import os
import warnings
from typing import Any

from penstock import _process
from penstock._batch import reports_itself
from penstock._clone import STOCK, in_worker
from penstock._elastic import Start
from penstock._lengths import note_length
from penstock._mark import mark_of
from penstock._pass import Pass
from penstock._process import Process, guarded, process
from penstock._run_delay import begin_wait, end_wait, is_waiting
from penstock._seeded import Position
from penstock._split import can_split, start_iterator

_VARIABLE = "PENSTOCK_ANALYZE"

# Attributes of an iterator.
_PASS = "_penstock_pass"
_POSITION = "_penstock_position"


def patch_loader(loader_class: Any) -> None:
    """Its __iter__ returns an object of a class for patch_iterator()."""
    if not is_patched(loader_class):
        loader_class.__iter__ = _counted_iter(loader_class.__iter__)


def patch_iterator(iterator_class: Any) -> None:
    stock = iterator_class.__next__
    if not hasattr(stock, STOCK):
        counted = _counted_next(stock)
        if _VARIABLE in os.environ:
            counted = _analysed_next(counted)
        iterator_class.__next__ = counted
        index = getattr(iterator_class, "_next_index", None)
        if index is not None:  # not public
            iterator_class._next_index = _noted_index(index)


def is_patched(loader_class: Any) -> bool:
    return hasattr(loader_class.__iter__, STOCK)


def adopt_iterators(loader: Any, iterator_class: Any) -> None:
    """Measures the iterators that a loader made before it was patched, and
    keeps in attributes of its own."""
    for name, value in list(vars(loader).items()):
        if isinstance(value, iterator_class) and name != "_iterator":
            _attach(process(asked=True), loader, value, None, None, None)


def _counted_iter(stock: Any) -> Any:
    @functools.wraps(stock)
    def __iter__(self: Any) -> Any:
        analysis = _analysis(self)
        if analysis is not None:
            return analysis
        now = _begin(self)
        start = _starter(self, stock, now)
        if start is None:
            _warn(self, "Penstock failed")
            return stock(self)
        iterator = start(self) if now is None else _start(now, self, start)
        if start.crew and start.run:
            vars(iterator)[_POSITION] = start.run.position
        if start.reason is not None:
            _warn(self, start.reason)
        return iterator

    setattr(__iter__, STOCK, stock)
    return __iter__


# What runs for every batch has try blocks of its own: guarded() costs a call.
def _counted_next(stock: Any) -> Any:
    placed, fail = _placed_next(stock), guarded(Pass.fail)

    @functools.wraps(stock)
    def __next__(self: Any) -> Any:
        known = self.__dict__
        take = placed if _POSITION in known else stock
        one = known.get(_PASS)
        if one is None or one.process is not _process.current:
            return take(self)
        try:
            one.begin()
        except Exception as error:
            _process.fail(error)
        try:
            batch = take(self)
        except BaseException as error:
            fail(one, isinstance(error, StopIteration))
            raise
        try:
            one.end(batch, self)
        except Exception as error:
            _process.fail(error)
        return batch

    setattr(__next__, STOCK, stock)
    return __next__


def _placed_next(stock: Any) -> Any:
    """Keeps the position in a seeded epoch."""
    update = guarded(Position.update)

    def next_batch(self: Any) -> Any:
        try:
            return stock(self)
        finally:
            update(self.__dict__[_POSITION], self)

    return next_batch


def _noted_index(stock: Any) -> Any:
    @functools.wraps(stock)
    def _next_index(self: Any) -> Any:
        index = stock(self)
        if _process.current is not None:
            try:
                note_length(self, index)
            except Exception as error:
                _process.fail(error)
        return index

    return _next_index


@guarded
def _analysis(loader: Any) -> Any:
    """Returns what is iterated instead of a watched loader, if anything."""
    if _VARIABLE not in os.environ or mark_of(loader) is None:
        return None
    if reports_itself(loader):
        return None
    from penstock._analysis import analysis_of

    return analysis_of(loader)


def _analysed_next(counted: Any) -> Any:
    """For programs that do not say which loader trains: once its batches are
    seen to train, the others are the analysis's."""

    @functools.wraps(counted)
    def __next__(self: Any) -> Any:
        analysis = _analysis_of_pass(self)
        return counted(self) if analysis is None else next(analysis)

    setattr(__next__, STOCK, getattr(counted, STOCK))
    return __next__


@guarded
def _analysis_of_pass(iterator: Any) -> Any:
    one = vars(iterator).get(_PASS)
    if one is None or not one.trains or mark_of(one.loader) is not None:
        return None
    from penstock._analysis import analysis_of

    analysis = analysis_of(one.loader)
    if analysis is not None and one.is_open:
        one.close()
        if hasattr(iterator, "_shutdown_workers"):
            iterator._shutdown_workers()
    return analysis


@guarded
def _begin(loader: Any) -> Process | None:
    """Returns None if this pass is not measured."""
    if in_worker() or reports_itself(loader):
        return None
    is_marked = mark_of(loader) is not None
    now = process(asked=is_marked)
    if now is None:
        return None
    # A loader inside another one's dataset: its waits are parts of that one's.
    if not is_marked and (now.training.explicit or is_waiting()):
        return None
    now.tally(loader)
    return now


@guarded
def _starter(loader: Any, stock: Any, now: Process | None) -> Start:
    return Start(loader, stock, now and now.client)


def _start(now: Process, loader: Any, start: Start) -> Any:
    """Raises the loader's own errors."""
    begin_ns = begin_wait()
    try:
        if _splits(now, loader):
            iterator, split = start_iterator(loader, start, start.workers)
        else:
            iterator, split = start(loader), None
    finally:
        end_wait()
    _attach(now, loader, iterator, split, start.crew, begin_ns)
    return iterator


def _warn(loader: Any, reason: str) -> None:
    """Once, if the program asked for elastic workers."""
    mark = mark_of(loader)
    if mark is None or mark.elastic is None or mark.warned:
        return
    mark.warned = True
    warnings.warn(
        f"penstock.watch(elastic={mark.elastic!r}): {reason}; torch's own "
        "workers run",
        stacklevel=3,
    )


@guarded
def _splits(now: Process, loader: Any) -> bool:
    return now.client.connected() and can_split(
        loader, always=mark_of(loader) is not None
    )


@guarded
def _attach(
    now: Process | None,
    loader: Any,
    iterator: Any,
    split: Any,
    crew: Any,
    begin_ns: int | None,
) -> None:
    if now is None:
        return
    old = vars(iterator).get(_PASS)
    if old:  # persistent workers
        old.close()
    with now.lock:
        turn = now.training.begin(now.tally(loader))
    size = getattr(loader, "batch_size", None)
    loads_itself = getattr(loader, "num_workers", None) == 0
    one = Pass(now, turn, iterator, split, crew, size, loads_itself)
    if _VARIABLE in os.environ:
        one.loader = loader
    if begin_ns is not None:
        one.started(begin_ns)
    vars(iterator)[_PASS] = one

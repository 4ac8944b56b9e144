"""Starts an epoch of a DataLoader whose tasks are a crew's."""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock import _exact_streams
from penstock._clone import clone, is_iterable_style, why_not_cloned
from penstock._crew import Crew, CrewContext, CrewPlan

Stock = Callable[[Any], Iterator[Any]]  # torch's own iteration of a loader


class Epoch(NamedTuple):
    iterator: Iterator[Any]
    crew: Crew | None
    reason: str | None  # why there is no crew


def start_epoch(loader: Any, stock: Stock, plan: CrewPlan) -> Epoch:
    """Starts torch's own iterator with a crew, and without one if that
    fails."""
    streams = _exact_streams.save()
    own = loader.generator and loader.generator.get_state()
    try:
        return Epoch(*_start(loader, plan), None)
    except Exception as error:
        _exact_streams.load(streams)
        if own is not None:
            loader.generator.set_state(own)
        reason = f"workers cannot be made elastic: {error!r}"
        return Epoch(stock(loader), None, reason)


def why_fixed(loader: Any, least_workers: int) -> str | None:
    """Returns why a loader cannot have elastic workers, if so."""
    reason = why_not_cloned(loader)
    if reason is not None:
        return reason
    if is_iterable_style(loader):
        return "an IterableDataset keeps state of its own"
    if loader.num_workers < least_workers:
        return f"num_workers is {loader.num_workers}"
    if loader.persistent_workers:
        return "the DataLoader keeps its workers (persistent_workers)"
    return None


def _start(loader: Any, plan: CrewPlan) -> tuple[Iterator[Any], Crew]:
    torch = sys.modules["torch"]
    loop = torch.utils.data._utils.worker._worker_loop
    base = loader.multiprocessing_context or torch.multiprocessing
    crew = Crew(plan, base)
    elastic = clone(
        loader, num_workers=plan.workers, prefetch_factor=plan.prefetch
    )
    elastic.multiprocessing_context = CrewContext(base, crew, loop)
    if plan.workers > plan.usual:  # torch's warning is for the user's number
        object.__setattr__(elastic, "check_worker_number_rationality", _quiet)
    return elastic._get_iterator(), crew


def _quiet() -> None:
    pass

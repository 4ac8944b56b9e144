"""Iterates over a torch DataLoader with a varying number of processes, and
changes no bit of its batches.

torch's own iterator runs, with all of the user's worker processes. Each keeps a
worker's id and random streams until fewer processes are to work: then those
that work take turns for all workers, and the others wait without using a CPU.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock import _exact_streams
from penstock._clone import clone, is_iterable_style, why_not_cloned
from penstock._exact_crew import Crew, ExactContext
from penstock._exact_state import Look
from penstock._split import untimed


class Epoch(NamedTuple):
    iterator: Iterator[Any]
    crew: Crew | None
    reason: str | None  # why there is no crew


def exact_epoch(
    loader: Any, stock: Callable[[Any], Iterator[Any]] = iter
) -> Epoch:
    """Starts an epoch. Its batches are those of stock(loader), torch's own
    iteration, which also runs where the number of processes cannot vary."""
    reason = _why_fixed(loader)
    if reason is not None:
        return Epoch(stock(loader), None, reason)
    streams = _exact_streams.save()
    own = loader.generator and loader.generator.get_state()
    try:
        return Epoch(*_start(loader), None)
    except Exception as error:
        _exact_streams.load(streams)
        if own is not None:
            loader.generator.set_state(own)
        reason = f"workers cannot be made elastic: {error!r}"
        return Epoch(stock(loader), None, reason)


def _why_fixed(loader: Any) -> str | None:
    reason = why_not_cloned(loader)
    if reason is not None:
        return reason
    if is_iterable_style(loader):
        return "an IterableDataset keeps state of its own"
    if loader.num_workers < 2:
        return f"num_workers is {loader.num_workers}"
    if loader.persistent_workers:
        return "the DataLoader keeps its workers (persistent_workers)"
    place = _generator_place(loader)
    return place and f"{place} has a random generator of its own"


def _generator_place(loader: Any) -> str | None:
    try:
        return Look(*untimed(loader.dataset, loader.collate_fn)).generator
    except Exception as error:
        return f"something that cannot be looked at ({error!r}) perhaps"


def _start(loader: Any) -> tuple[Iterator[Any], Crew]:
    torch = sys.modules["torch"]
    loop = torch.utils.data._utils.worker._worker_loop
    base = loader.multiprocessing_context or torch.multiprocessing
    workers = loader.num_workers
    crew = Crew(workers, (loader.prefetch_factor + 1) * workers, base)
    elastic = clone(loader)
    elastic.multiprocessing_context = ExactContext(base, crew, loop)
    return elastic._get_iterator(), crew

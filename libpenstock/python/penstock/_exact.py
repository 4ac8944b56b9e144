"""Iterates over a torch DataLoader with a varying number of processes, and
changes no bit of its batches.

torch's own iterator runs, with all of the user's worker processes. Each keeps a
worker's id and random streams until fewer processes are to work: then those
that work take turns for all workers, and the others wait without using a CPU.
"""

from typing import Any

from penstock._crew import CrewPlan
from penstock._crew_epoch import Epoch, Stock, start_epoch, why_fixed
from penstock._exact_state import Look
from penstock._exact_worker import ExactSeat
from penstock._split import untimed


def exact_epoch(loader: Any, stock: Stock = iter) -> Epoch:
    """Starts an epoch. Its batches are those of stock(loader), torch's own
    iteration, which also runs where the number of processes cannot vary."""
    reason = why_fixed(loader, least_workers=2) or _generator_reason(loader)
    if reason is not None:
        return Epoch(stock(loader), None, reason)
    workers = loader.num_workers
    plan = CrewPlan(ExactSeat, workers, loader.prefetch_factor, workers)
    return start_epoch(loader, stock, plan)


def _generator_reason(loader: Any) -> str | None:
    try:
        roots = untimed(loader.dataset, loader.collate_fn)
        place = Look(*roots).generator
    except Exception as error:
        place = f"something that cannot be looked at ({error!r}) perhaps"
    return place and f"{place} has a random generator of its own"

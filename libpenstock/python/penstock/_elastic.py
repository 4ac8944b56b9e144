"""Starts a DataLoader's epoch, with elastic workers where they are wanted."""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from penstock._client import Client, Hint
from penstock._clone import is_data_loader
from penstock._crew import Crew
from penstock._crew_epoch import why_fixed
from penstock._exact import exact_epoch
from penstock._mark import Mark, mark_of
from penstock._seeded import Run, run_of

EXACT = "exact"
SEEDED = "seeded"
MODES = (EXACT, SEEDED)


def mode_of(mark: Mark | None) -> str | None:
    """Returns a mode, or None for torch's own workers. The job's choice is for
    loaders whose program says nothing; its "off" is for all."""
    job = os.environ.get("PENSTOCK_LOADER_ELASTIC")
    own = mark.elastic if mark else None
    return None if job == "off" else own or (job if job in MODES else None)


class Start:
    """Calls torch's own __iter__, once or, after an error, again."""

    def __init__(
        self,
        loader: Any,
        stock: Callable[[Any], Iterator[Any]],
        client: Client | None,
    ):
        """client: None if nothing is measured."""
        self.crew: Crew | None = None
        self.reason: str | None = None  # why workers are not elastic
        self.workers: int = loader.num_workers  # at most
        self.run: Run | None = None
        self._stock = stock
        self._mode = mode_of(mark_of(loader))
        # Without penstockd there is no grant, for the whole epoch.
        connected = client is not None and client.connected()
        if self._mode == EXACT and not connected:
            self._mode = None
        if self._mode == SEEDED:
            self._prepare(loader, client.hint() if connected else None)

    def __call__(self, loader: Any) -> Iterator[Any]:
        """loader: the same, or a clone."""
        if self.run:
            epoch = self.run.epoch(loader, self._stock, self._plan)
        elif self._mode == EXACT:
            epoch = exact_epoch(loader, self._stock)
        else:
            return self._stock(loader)
        self.crew, self.reason = epoch.crew, epoch.reason
        return epoch.iterator

    def _prepare(self, loader: Any, hint: Hint | None) -> None:
        self.reason = _why_not_seeded(loader)
        if self.reason is None:
            self.run = run_of(loader)
            granted = hint.loader_threads if hint else None
            self._plan = self.run.plan(loader, granted)
            self.workers = self._plan.workers


def state_dict(loader: Any) -> dict[str, Any]:
    """Returns where the epoch of a loader stands: for watch() with
    elastic="seeded". It can be pickled. Raises ValueError for other loaders.
    """
    return _seeded_run(loader).state()


def load_state_dict(loader: Any, state: dict[str, Any]) -> None:
    """Makes the next epoch continue where state_dict() was called. The batches
    are those that the epoch would have had, with any num_workers. The loader
    must have the same data, batches and samplers. Raises ValueError."""
    _seeded_run(loader).load(loader, state)


def _seeded_run(loader: Any) -> Run:
    mode = is_data_loader(loader) and mode_of(mark_of(loader))
    if mode != SEEDED:
        raise ValueError(
            "not a DataLoader that watch(elastic='seeded') returned, or "
            "PENSTOCK_LOADER_ELASTIC is off"
        )
    reason = _why_not_seeded(loader)
    if reason is not None:
        raise ValueError(f"the loader cannot be seeded: {reason}")
    if not getattr(loader, "in_order", True):
        raise ValueError("an epoch with in_order=False cannot be continued")
    return run_of(loader)


def _why_not_seeded(loader: Any) -> str | None:
    kind = type(loader)
    base = sys.modules["torch.utils.data"].DataLoader
    if kind.__iter__ is not base.__iter__:
        return f"its class {kind.__name__} has an __iter__ of its own"
    return why_fixed(loader, least_workers=1)

"""Starts a DataLoader's epoch, with elastic workers where they are wanted."""

import os
from collections.abc import Callable, Iterator
from typing import Any

from penstock._exact import exact_epoch
from penstock._exact_crew import Crew
from penstock._mark import Mark

MODES = ("exact",)


def mode_of(mark: Mark | None) -> str | None:
    """Returns a mode, or None for torch's own workers. The job's choice is for
    loaders whose program says nothing; its "off" is for all."""
    job = os.environ.get("PENSTOCK_LOADER_ELASTIC")
    own = mark.elastic if mark else None
    return None if job == "off" else own or (job if job in MODES else None)


class Start:
    """Calls torch's own __iter__, once or, after an error, again."""

    def __init__(
        self, stock: Callable[[Any], Iterator[Any]], mode: str | None
    ):
        self.crew: Crew | None = None
        self.reason: str | None = None  # why workers are not elastic
        self._stock = stock
        self._mode = mode

    def __call__(self, loader: Any) -> Iterator[Any]:
        if self._mode is None:
            return self._stock(loader)
        epoch = exact_epoch(loader, self._stock)
        self.crew, self.reason = epoch.crew, epoch.reason
        return epoch.iterator

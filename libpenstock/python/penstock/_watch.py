"""Makes a loader report to penstockd."""

import warnings
from collections.abc import Iterable, Iterator
from typing import TypeVar

from penstock._client import default_client
from penstock._clone import is_data_loader
from penstock._elastic import MODES
from penstock._instrument import adopt, instrument
from penstock._mark import Mark, mark_of, set_mark
from penstock._watched import Watched, WatchedStream

Loader = TypeVar("Loader", bound=Iterable)


def watch(loader: Loader, *, elastic: str | None = None) -> Loader:
    """Returns a loader that yields the same batches, and reports samples and
    waiting times to penstockd: a torch DataLoader itself, for anything else an
    object that wraps it.

    elastic: how many of a torch DataLoader's worker processes work follows the
    grant within an epoch. "exact": up to num_workers, and no bit of a batch
    changes. "seeded": also more; each batch has random streams of its own, so
    that an epoch can be continued by load_state_dict(). Where a loader allows
    neither, torch's own workers run, and a warning says why.

    Raises ValueError for another value of elastic.
    """
    if elastic and elastic not in MODES:
        raise ValueError(
            f"penstock.watch(elastic={elastic!r}): use "
            + " or ".join(map(repr, MODES))
        )
    if is_data_loader(loader):
        known = mark_of(loader)
        if known is None or (elastic and known.elastic != elastic):
            set_mark(loader, Mark(elastic or None))
        instrument()
        adopt(loader)
        return loader
    if elastic:
        warnings.warn(
            f"penstock.watch(elastic={elastic!r}): not a torch DataLoader; its "
            "workers stay as they are",
            stacklevel=2,
        )
    kind = WatchedStream if isinstance(loader, Iterator) else Watched
    return kind(loader, default_client())  # type: ignore[return-value]

"""Makes a loader report to penstockd."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from penstock._client import default_client
from penstock._clone import is_data_loader
from penstock._elastic import own_workers
from penstock._instrument import adopt, instrument
from penstock._mark import Mark, mark_of, set_mark
from penstock._watched import Watched, WatchedStream

Loader = TypeVar("Loader", bound=Iterable)


def watch(loader: Loader, *, elastic: bool = False) -> Loader:
    """Returns a loader that yields the same batches, and reports samples and
    waiting times to penstockd: a torch DataLoader itself, for anything else an
    object that wraps it.

    elastic: before each epoch a torch DataLoader's num_workers follows the
    grant, as far as memory allows. This gives up bitwise reproducibility of the
    workers' random streams; the order of the samples is unchanged.
    """
    if is_data_loader(loader):
        known = mark_of(loader)
        if known is None or (elastic and known.own_workers is None):
            set_mark(loader, Mark(own_workers(loader) if elastic else None))
        instrument()
        adopt(loader)
        return loader
    own = own_workers(loader) if elastic else None
    kind = WatchedStream if isinstance(loader, Iterator) else Watched
    return kind(loader, default_client(), own)  # type: ignore[return-value]

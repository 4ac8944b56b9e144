"""Tells Penstock how a training job is fed, and reads what it was granted.

    for batch in penstock.watch(loader):
        train(batch)

Works with any iterable. Where no penstockd answers, everything here is a cheap
no-op. See penstock-python(7).
"""

from typing import TYPE_CHECKING, Any

from penstock._client import Client, Hint, default_client
from penstock._lightning import LightningCallback
from penstock._watch import Watched, watch

if TYPE_CHECKING:
    from penstock.loader import SharedLoader as SharedLoader

__all__ = [
    "Client",
    "Hint",
    "LightningCallback",
    "Watched",
    "connected",
    "hint",
    "report",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name == "SharedLoader":  # NumPy is imported by who asks for it only
        from penstock.loader import SharedLoader

        return SharedLoader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def connected() -> bool:
    """True while penstockd is connected."""
    return default_client().connected()


def hint() -> Hint | None:
    """The job's grant as penstockd last wrote it; None when there is none."""
    return default_client().hint()


def report(**counters: int) -> None:
    """Publishes absolute counters since the job began, for loops that do not
    use watch(): samples, steps, wait_ns, bytes, fetch_ns, prep_ns, prepared,
    replaying, exchange_ns (time waited for the exchange of gradients, no part
    of wait_ns), delay_ns (time waited for a CPU, no part of wait_ns),
    loader_threads, follows_hint (1: the number of loader threads
    follows the hint's). Those not named stay as they are.

    Raises TypeError for another name.
    """
    default_client().report(**counters)

"""Reports a training job's data feed to Penstock, and reads the job's grant.

    for batch in penstock.watch(loader):
        train(batch)

Works with any iterable. Without penstockd, all functions are cheap no-ops. See
penstock-python(7).
"""

from typing import TYPE_CHECKING, Any

from penstock._client import Client, Hint, default_client
from penstock._elastic import load_state_dict, state_dict
from penstock._lightning import LightningCallback
from penstock._process import count_only_what_is_watched
from penstock._watch import watch
from penstock._watched import Watched

if TYPE_CHECKING:
    from penstock.loader import SharedLoader as SharedLoader

__all__ = [
    "Client",
    "Hint",
    "LightningCallback",
    "Watched",
    "connected",
    "hint",
    "load_state_dict",
    "report",
    "state_dict",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name == "SharedLoader":  # NumPy is imported only on demand
        from penstock.loader import SharedLoader

        return SharedLoader
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def connected() -> bool:
    """Returns True while penstockd is connected."""
    return default_client().connected()


def hint() -> Hint | None:
    """Returns the latest grant that penstockd wrote, or None without a
    grant."""
    return default_client().hint()


def report(**counters: int) -> None:
    """Publishes absolute counters since the job began.

    For loops that do not use watch(). Counters: samples, steps, wait_ns, bytes,
    fetch_ns, prep_ns, prepared, replaying, exchange_ns, delay_ns,
    loader_threads, follows_hint, compute_threads. exchange_ns is the time waited for the
    exchange of gradients, and delay_ns the time waited for a CPU; wait_ns
    includes neither. follows_hint is 1 if the number of loader threads follows
    the hint's. compute_threads is the number of threads that compute the model
    on the CPU. Omitted counters keep their values.

    Raises TypeError for an unknown counter.
    """
    if "samples" in counters:
        count_only_what_is_watched()
    default_client().report(**counters)

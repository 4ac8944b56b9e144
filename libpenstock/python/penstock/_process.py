"""What this process measures of its DataLoaders. A forked child starts anew."""

import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from penstock._client import Client, default_client
from penstock._mark import mark_of
from penstock._training import Tally, Training


class Process:
    """Any thread may call tally(); training needs the lock."""

    def __init__(self, asked: bool) -> None:
        self.client: Client = default_client(asked)
        self.training = Training(self.client.add_batch, _has_optimizer)
        self.lock = threading.RLock()
        self.knows_threads = False  # that compute the model
        self._loaders: dict[int, tuple[weakref.ref, Tally]] = {}

    def tally(self, loader: Any) -> Tally:
        key, marked = id(loader), mark_of(loader) is not None
        known = self._loaders.get(key)  # loaders need not be hashable
        if known and known[0]() is loader and known[1].marked == marked:
            return known[1]
        tally = Tally(marked)
        self._loaders[key] = (weakref.ref(loader, self._forget(key)), tally)
        return tally

    def _forget(self, key: int) -> Callable[[object], None]:
        def forget(reference: object) -> None:
            known = self._loaders.get(key)
            if known and known[0] is reference:
                known[1].alive = False
                del self._loaders[key]

        return forget


current: Process | None = None
_has_optimizer = False
_has_failed = False


def process(asked: bool) -> Process | None:
    """Connects to penstockd at the first call. Returns None after a failure.
    asked: see Client."""
    global current
    if current is None and not _has_failed:
        current = Process(asked)
    if current is not None:
        current.client.asked |= asked
    return current


def made_optimizer() -> None:
    """The process has an optimizer of torch. Does not connect."""
    global _has_optimizer
    _has_optimizer = True
    if current is not None:
        with current.lock:
            current.training.made_optimizer()


def count_only_what_is_watched() -> None:
    """For programs that say themselves what to count."""
    now = process(asked=True)
    if now is not None:
        now.training.explicit = True


def guarded(function: Callable) -> Callable:
    """Any failure of the function ends the measurement of this process; the
    function then returns None."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:
            fail(error)
            return None

    return call


def fail(error: Exception) -> None:
    """Ends the measurement of this process."""
    global current, _has_failed
    if not _has_failed and os.environ.get("PENSTOCK_DEBUG"):
        text = f"penstock: DataLoaders are not measured: {error!r}"
        print(text, file=sys.stderr, flush=True)
    current, _has_failed = None, True


def _after_fork_in_child() -> None:
    global current
    current = None


os.register_at_fork(after_in_child=_after_fork_in_child)

"""Measures how long a training loop waits for its data: any iterable, except
torch's DataLoader."""

import functools
import inspect
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from penstock._batch import batch_samples, reports_itself
from penstock._client import Client, default_client
from penstock._clone import worker_pids
from penstock._process import count_only_what_is_watched
from penstock._run_delay import begin_wait, end_wait, take_delay_ns

Batch = TypeVar("Batch")
_OWN = ("_loader", "_client", "_running")


class Watched(Generic[Batch]):
    """Iterates over the loader, once per epoch.

    All other attribute access goes to the loader, including assignments. A
    copy, or a pickle loaded in another process, reports for its own process."""

    def __init__(self, loader: Iterable[Batch], client: Client):
        self._loader = loader
        self._client = client

    def __bool__(self) -> bool:
        return bool(self._loader)

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:  # not set yet: a copy or a pickle is being made
            raise AttributeError(name)
        value = getattr(self._loader, name)
        if inspect.ismethod(value) and value.__self__ is self._loader:
            return self._method(value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or name == "__orig_class__":  # Watched[Batch](...)
            object.__setattr__(self, name, value)
        else:
            setattr(self._loader, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._loader, name)

    def __reduce_ex__(self, protocol: int) -> tuple:
        return _restored, (type(self), self._loader)

    def __iter__(self) -> Iterator[Batch]:
        if "PENSTOCK_ANALYZE" in os.environ:
            from penstock._analysis import analysis_of

            analysis = analysis_of(self._loader)
            if analysis is not None:
                return analysis
        if reports_itself(self._loader):
            return iter(self._loader)
        return WatchedIterator(self._loader, self._client)

    def _method(self, method: Callable) -> Callable:
        """Watches what a method like WebLoader.with_epoch() returns."""

        @functools.wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:
            result = method(*arguments, **options)
            if result is self._loader:
                return self
            if isinstance(result, type(self._loader)):
                return type(self)(result, self._client)
            return result

        return call


class WatchedStream(Watched[Batch]):
    """Wraps an iterator. It may begin anew with each iter(), as DALI's do."""

    _running: Iterator[Batch] | None = None

    def __next__(self) -> Batch:
        if self._running is None:
            self._running = iter(self)
        return next(self._running)


def _restored(kind: type, loader: Any) -> Watched:
    return kind(loader, default_client())


class WatchedIterator(Generic[Batch]):
    """One epoch. Its workers stay registered until it is exhausted, closed or
    dropped. A failed batch ends nothing, because the loader's own iterator may
    continue."""

    def __init__(self, loader: Any, client: Client):
        self._pids: list[int] = []
        self._loader = loader
        self._client = client
        count_only_what_is_watched()
        begin_ns = begin_wait()
        try:
            self._iterator = iter(loader)
        finally:
            end_wait()
        self._pids = worker_pids(self._iterator)
        for pid in self._pids:
            client.register(pid)
        client.report(loader_threads=len(self._pids), follows_hint=0)
        # The start of the workers counts as a wait.
        self._wait_ns = time.monotonic_ns() - begin_ns

    def __iter__(self) -> "WatchedIterator[Batch]":
        return self

    def __len__(self) -> int:
        return len(self._iterator)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return bool(self._iterator)

    def __getattr__(self, name: str) -> Any:
        if name == "_iterator":  # not set yet
            raise AttributeError(name)
        return getattr(self._iterator, name)

    def __next__(self) -> Batch:
        begin_ns = begin_wait()
        try:
            batch = next(self._iterator)
        except StopIteration:
            self.close()
            raise
        finally:
            end_ns = end_wait()
        wait_ns = self._wait_ns + end_ns - begin_ns
        self._wait_ns = 0
        self._tell(batch_samples(batch, self._loader), wait_ns)
        return batch

    def close(self) -> None:
        pids, self._pids = self._pids, []
        for pid in pids:
            self._client.unregister(pid)

    def __del__(self):
        self.close()

    def _tell(self, samples: int, wait_ns: int) -> None:
        self._client.add_batch(samples, wait_ns, None, take_delay_ns())

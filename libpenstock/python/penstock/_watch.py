"""Measures how long a training loop waits for its data."""

import os
import time
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from penstock._batch import batch_samples
from penstock._client import Client, default_client
from penstock._elastic import ElasticWorkers, elastic_workers, worker_pids
from penstock._run_delay import begin_wait, end_wait, take_delay_ns
from penstock._split import start_iterator

Batch = TypeVar("Batch")
_OWN = ("_loader", "_client", "_elastic")


def watch(
    loader: Iterable[Batch], *, elastic: bool = False
) -> "Watched[Batch]":
    """Wraps a loader: yields the same batches, and reports samples and waiting
    times to penstockd.

    elastic: before each epoch a torch DataLoader's num_workers follows the
    grant, as far as memory allows. This gives up bitwise reproducibility of the
    workers' random streams; the order of the samples is unchanged.
    """
    return Watched(loader, elastic, default_client())


class Watched(Generic[Batch]):
    """Iterates over the loader, once per epoch.

    All other attribute access goes to the loader, including assignments. A
    copy, or a pickle loaded in another process, reports for its own process."""

    def __init__(self, loader: Iterable[Batch], elastic: bool, client: Client):
        self._loader = loader
        self._client = client
        self._elastic = elastic_workers(loader, client) if elastic else None

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:  # not set yet: a copy or a pickle is being made
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or name == "__orig_class__":  # Watched[Batch](...)
            object.__setattr__(self, name, value)
        else:
            setattr(self._loader, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._loader, name)

    def __reduce_ex__(self, protocol: int) -> tuple:
        own = self._elastic.own_workers if self._elastic else None
        return _restored, (self._loader, own)

    def __iter__(self) -> Iterator[Batch]:
        if "PENSTOCK_ANALYZE" in os.environ:
            from penstock._analysis import analysis_of

            analysis = analysis_of(self._loader)
            if analysis is not None:
                return analysis
        if reports_itself(self._loader):
            return iter(self._loader)
        if self._elastic:
            self._elastic.resize()
        return WatchedIterator(self._loader, self._client, self._elastic)


def _restored(loader: Any, own_workers: int | None) -> Watched:
    client = default_client()
    watched: Watched = Watched(loader, False, client)
    if own_workers is not None:
        watched._elastic = ElasticWorkers(loader, client, own_workers)
    return watched


class WatchedIterator(Generic[Batch]):
    """One epoch. Its workers stay registered until it is exhausted, closed or
    dropped. A failed batch ends nothing, because the loader's own iterator may
    continue."""

    def __init__(
        self, loader: Any, client: Client, elastic: ElasticWorkers | None
    ):
        self._pids: list[int] = []
        self._loader = loader
        self._client = client
        self._elastic = elastic
        self._count = 0
        begin_ns = time.monotonic_ns()
        if client.connected():
            self._iterator, self._split = start_iterator(loader)
        else:
            self._iterator, self._split = iter(loader), None
        self._pids = worker_pids(self._iterator)
        for pid in self._pids:
            client.register(pid)
        client.report(
            loader_threads=len(self._pids), follows_hint=elastic is not None
        )
        # The start of the workers counts as a wait.
        self._wait_ns = time.monotonic_ns() - begin_ns

    def __iter__(self) -> "WatchedIterator[Batch]":
        return self

    def __len__(self) -> int:
        return len(self._iterator)  # type: ignore[arg-type]

    def __next__(self) -> Batch:
        begin_wait()
        begin_ns = time.monotonic_ns()
        try:
            batch = next(self._iterator)
        except StopIteration:
            self.close()
            raise
        finally:
            end_wait()
        wait_ns = self._wait_ns + time.monotonic_ns() - begin_ns
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
        split = self._split.take() if self._split else {}
        self._client.add_batch(samples, wait_ns, split, take_delay_ns())
        self._count += 1
        # Rarely, at growing intervals: the kernel takes a millisecond to read a
        # size.
        if self._elastic and self._count & (self._count - 1) == 0:
            self._elastic.measure(self._pids)


def reports_itself(loader: object) -> bool:
    """Returns whether the loader is a penstock.loader.Loader, or a DataLoader
    of one. Such samples must not be counted twice."""
    return getattr(loader, "reports_progress", False) or getattr(
        getattr(loader, "dataset", None), "reports_progress", False
    )

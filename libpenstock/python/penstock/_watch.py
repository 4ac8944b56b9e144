"""Measures how long a training loop waits for its data."""

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from penstock._client import Client, default_client
from penstock._elastic import elastic_workers

Batch = TypeVar("Batch")
_PARTS = 8  # of a batch, looked at for its length


def watch(
    loader: Iterable[Batch], *, elastic: bool = False
) -> "Watched[Batch]":
    """Wraps a loader: yields the very same batches, and reports to penstockd
    how many samples went by and how long they were waited for.

    elastic: before each epoch a torch DataLoader's num_workers follows the
    grant, as far as memory allows. This gives up bitwise reproducibility of
    the workers' random streams; the order of the samples stays.
    """
    return Watched(loader, elastic, default_client())


class Watched(Generic[Batch]):
    """Iterates over the loader, once per epoch; all else is the loader's."""

    def __init__(self, loader: Iterable[Batch], elastic: bool, client: Client):
        self._loader = loader
        self._client = client
        self._elastic = elastic_workers(loader, client) if elastic else None

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name == "_loader":  # not set yet: a copy or a pickle being made
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __iter__(self) -> Iterator[Batch]:
        if self._elastic:
            self._elastic.resize()
        begin_ns = time.monotonic_ns()
        iterator = iter(self._loader)  # starts the workers: a wait as well
        pids = worker_pids(iterator)
        for pid in pids:
            self._client.register(pid)
        self._client.report(
            loader_threads=len(pids), follows_hint=self._elastic is not None
        )
        try:
            yield from self._measured(iterator, begin_ns, pids)
        finally:
            for pid in pids:
                self._client.unregister(pid)

    def _measured(
        self, iterator: Iterator[Batch], begin_ns: int, pids: list[int]
    ) -> Iterator[Batch]:
        count = 0
        for batch in iterator:
            wait_ns = time.monotonic_ns() - begin_ns
            samples = batch_samples(batch, self._loader)
            self._client.add(samples=samples, steps=1, wait_ns=wait_ns)
            count += 1
            # Seldom, and less and less often: reading a size takes the kernel
            # a millisecond.
            if self._elastic and count & (count - 1) == 0:
                self._elastic.measure(pids)
            yield batch
            begin_ns = time.monotonic_ns()


def worker_pids(iterator: object) -> list[int]:
    """The worker processes of a torch DataLoader's iterator, if it has any."""
    workers = getattr(iterator, "_workers", [])
    pids = [getattr(worker, "pid", None) for worker in workers]
    return [pid for pid in pids if isinstance(pid, int)]


def batch_samples(batch: object, loader: object) -> int:
    """The length of the first tensor or sequence in the batch; else the
    loader's batch_size; else 1."""
    length = _length(batch)
    if length is None:
        length = getattr(loader, "batch_size", None)
    return length if isinstance(length, int) and length >= 0 else 1


def _length(batch: object, depth: int = 4) -> int | None:
    """None where the batch holds no tensor and no sequence."""
    if isinstance(batch, (str, bytes)) or depth == 0:
        return None
    if isinstance(batch, Mapping):
        parts = itertools.islice(batch.values(), _PARTS)
        lengths = (_length(part, depth - 1) for part in parts)
        return next((n for n in lengths if n is not None), None)
    if isinstance(batch, (list, tuple)):
        lengths = (_length(part, depth - 1) for part in batch[:_PARTS])
        return next((n for n in lengths if n is not None), len(batch))
    try:
        return len(batch)  # type: ignore[arg-type]
    except TypeError:  # a number, or a tensor without dimensions
        return None

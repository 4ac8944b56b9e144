"""Adapts the number of a DataLoader's worker processes for each epoch."""

import os
import sys
import warnings

from penstock import _memory
from penstock._client import Client

_MEMORY_FACTOR = 1.5


def workers_that_fit(
    own: int, granted: int, worker_bytes: int, room_bytes: int
) -> int:
    """Returns the granted number of workers, limited by memory. Each worker
    beyond the user's own number needs 1.5 times one worker's size in free
    memory."""
    wanted = max(1, granted)
    if wanted <= own or worker_bytes <= 0:
        return wanted
    left = room_bytes - own * worker_bytes
    extra = max(0, int(left / (_MEMORY_FACTOR * worker_bytes)))
    return min(wanted, own + extra)


class ElasticWorkers:
    """Sets a torch DataLoader's num_workers between epochs."""

    def __init__(self, client: Client, own_workers: int):
        """own_workers: the user's choice."""
        self._client = client
        self.own_workers = own_workers
        self._worker_bytes = 0  # largest seen

    def resize(self, loader) -> None:
        """Applies the grant before an epoch. Without a grant, restores the
        user's own number of workers."""
        hint = self._client.hint()
        workers = self.own_workers
        if hint is not None:
            size = self._worker_bytes or _memory.process_bytes(os.getpid())
            room = _memory.room_bytes()
            workers = workers_that_fit(
                self.own_workers, hint.loader_threads, size, room
            )
        # torch 2 leaves it None if there were no workers.
        if workers > 0 and getattr(loader, "prefetch_factor", 2) is None:
            loader.prefetch_factor = 2
        loader.num_workers = workers

    def measure(self, pids: list[int]) -> None:
        """Records a worker's size during an epoch."""
        for pid in pids[:1]:
            size = _memory.process_bytes(pid)
            self._worker_bytes = max(self._worker_bytes, size)


def own_workers(loader) -> int | None:
    """Returns None, with a warning that gives the reason, if the number of
    workers cannot be changed safely."""
    reason = _why_fixed(loader)
    if reason is None:
        return loader.num_workers
    warnings.warn(
        f"penstock.watch(elastic=True): {reason}; its workers stay as they are",
        stacklevel=3,
    )
    return None


def _why_fixed(loader) -> str | None:
    if not hasattr(loader, "num_workers"):
        return "the loader has no num_workers"
    if getattr(loader, "persistent_workers", False):
        return "the DataLoader keeps its workers (persistent_workers)"
    torch_data = sys.modules.get("torch.utils.data")
    dataset = getattr(loader, "dataset", None)
    if torch_data and isinstance(dataset, torch_data.IterableDataset):
        return "an IterableDataset splits its samples by the number of workers"
    return None


def worker_pids(iterator: object) -> list[int]:
    """Returns the worker processes of a torch DataLoader's iterator, if any."""
    workers = getattr(iterator, "_workers", [])
    pids = [getattr(worker, "pid", None) for worker in workers]
    return [pid for pid in pids if isinstance(pid, int)]

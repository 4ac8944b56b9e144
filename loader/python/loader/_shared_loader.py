"""The SharedLoader: batches that several jobs prepare together."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from penstock.loader._base import StreamLoader, close_at_exit
from penstock.loader._batch import Batch
from penstock.loader._cache import SampleCache, source_of_loader
from penstock.loader._data import Paths, open_dataset
from penstock.loader._native import Dataset, join_share
from penstock.loader._options import check_choices, natural

if TYPE_CHECKING:
    from penstock.loader._native import ShareCounters


def _named(share: str | None) -> str:
    name = os.environ.get("PENSTOCK_LOADER_SHARE") if share is None else share
    if not name:
        raise ValueError(
            "share: none is named; give share=, or srun --loader-share=NAME"
        )
    return name


class SharedLoader(StreamLoader):
    """Iterate over it once per epoch. Belongs to the process that made it, and
    to one thread at a time."""

    def __init__(
        self,
        dataset: Dataset | Paths,
        batch_size: int = 32,
        *,
        share: str | None = None,
        jobs: int = 1,
        window: int = 8,
        crop: int = 224,
        augment: Literal["random", "centre"] = "random",
        seed: int = 0,
        shuffle: bool = True,
        broken: Literal["skip", "fatal"] = "skip",
        threads: int | None = None,
        direct: bool = False,
        cache: int | Literal["auto"] | SampleCache | None = None,
        cache_peers: str | None = None,
    ):
        """Joins or creates the share of that name, and starts the threads.

        share: the name common to the jobs of one user on a node; None: the name
        from srun --loader-share=NAME. The data, batch_size, crop, augment, seed
        and shuffle must be the same too.
        jobs: number of jobs that begin together. The first batch waits for
        them, 60 s at most. Other jobs join at a later epoch.
        window: number of batches by which the fastest job may lead the slowest,
        2 to 512; set by the share's first job.

        The other options are those of Loader.

        Raises TypeError or ValueError for an invalid value. Raises ValueError
        for a cache of other data, and for a share of that name that prepares
        something else. Raises OSError for unreadable data, or if there is no
        memory for the share's batches.
        """
        check_choices(augment, broken, threads, None)
        if not isinstance(dataset, Dataset):
            dataset = open_dataset(dataset)
        self._dataset = dataset
        self._batch_size = natural("batch_size", batch_size)
        if not 2 <= window <= 512:
            raise ValueError(f"window={window}: allowed: 2 to 512 batches")
        source, self._cache = source_of_loader(dataset, cache, cache_peers)
        self._stream = join_share(
            source,
            name=_named(share),
            batch_size=self._batch_size,
            crop=crop,
            augment=augment,
            seed=natural("seed", seed),
            shuffle=shuffle,
            jobs=natural("jobs", jobs),
            window=window,
            broken_fatal=broken == "fatal",
            direct=direct,
            threads=threads or 0,
        )
        self._is_amid = False  # whether batches of the epoch were returned
        self._iterator: object = None
        close_at_exit(self)

    def __len__(self) -> int:
        """Returns the number of batches of an epoch. Batches of only broken
        samples are skipped."""
        return -(-self._stream.samples_per_epoch // self._batch_size)

    def share_counters(self) -> "ShareCounters":
        """Returns this job's use of the share so far.

        used_batches: batches from the share, whichever job prepared them.
        times_out: how often this job left the share.
        alone_batches: batches that it prepared for itself while outside.
        lost_claims: batches that it prepared in vain, because other jobs had
        taken them over."""
        return self._stream.share_counters()

    def __iter__(self) -> Iterator[Batch]:
        """Yields the next epoch. Skips the rest of an epoch whose iterator was
        left unfinished."""
        self._iterator = iterator = object()
        while self._is_amid:
            self._take()
        while True:
            if self._iterator is not iterator:
                raise RuntimeError(
                    "this iterator's epoch has ended: the loader was iterated "
                    "over anew"
                )
            batch = self._take()
            has_ended = not self._is_amid
            if len(batch.labels) > 0:
                yield batch
            if has_ended:
                break
        self._stream.end_step()

    def _take(self) -> Batch:
        taken = None
        while taken is None:
            taken = self._next_of_stream()
        images, labels, indices, _, ends, _ = taken
        self._is_amid = not ends
        return Batch(images, labels, indices)

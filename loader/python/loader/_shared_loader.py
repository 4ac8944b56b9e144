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
    """Iterated over once per epoch. Belongs to the process that made it, and
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
        """Joins the share of that name, or makes it, and starts the threads.

        share: what the jobs of one user on a node have alike; None: what srun
        --loader-share=NAME says. The data, batch_size, crop, augment, seed and
        shuffle have to be alike, too.
        jobs: that begin together: the first batch waits for them, 60 s at
        most. Others come in with a later epoch.
        window: batches that the fastest job may be ahead of the slowest one,
        2 to 512, as the share's first job has it.
        The others are Loader's.

        Raises TypeError or ValueError for a value that is not allowed,
        ValueError for a cache of other data, and where the share of that name
        prepares something else; OSError where the data cannot be read, or the
        share's batches have no memory.
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
        self._is_amid = False  # batches of the epoch were handed out
        self._iterator: object = None
        close_at_exit(self)

    def __len__(self) -> int:
        """Batches of an epoch; those whose samples are all broken do not
        come."""
        return -(-self._stream.samples_per_epoch // self._batch_size)

    def share_counters(self) -> "ShareCounters":
        """What this job had of the share so far: used_batches that the share
        had for it, whoever prepared them; times_out, how often it was out of
        the share, and alone_batches, that it prepared for itself then;
        lost_claims, batches that it prepared in vain, as others had taken them
        over."""
        return self._stream.share_counters()

    def __iter__(self) -> Iterator[Batch]:
        """The next epoch; what is left of one that an iterator was left in the
        middle of is passed over."""
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

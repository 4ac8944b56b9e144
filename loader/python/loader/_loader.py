"""The Loader: batches out of the library's own threads."""

import gc
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any, Literal

from penstock.loader._base import StreamLoader, close_at_exit
from penstock.loader._batch import Batch, State
from penstock.loader._cache import SampleCache, source_of_loader
from penstock.loader._data import Paths, open_dataset
from penstock.loader._native import Dataset, Stream
from penstock.loader._options import check_choices, natural, own_rank

_log = logging.getLogger("penstock.loader")
# How long other threads may keep the batch that all others wait for, and how
# long the only thread waits for itself.
_HELD_S = 60.0
_ALONE_S = 0.2


class Epoch(Iterator[Batch]):
    """One epoch of a Loader."""

    def __init__(self, loader: "Loader"):
        self._loader = loader
        self._has_ended = False

    def __next__(self) -> Batch:
        if not self._has_ended:
            batch = self._loader._next(self)
            if batch is not None:
                self._has_ended = self._loader._epoch is not self
                return batch
            self._has_ended = True
        self._loader._end_step()
        raise StopIteration


class Loader(StreamLoader):
    """Iterated over once per epoch. Belongs to the process that made it, and
    to one thread at a time."""

    _is_amid: bool  # batches of the epoch were handed out
    _epoch: Epoch | None
    _epoch_samples: int  # of this rank, in the epoch under way
    _epoch_batches: int  # of the stream, before it

    def __init__(
        self,
        dataset: Dataset | Paths,
        batch_size: int = 32,
        *,
        crop: int = 224,
        augment: Literal["random", "centre"] = "random",
        seed: int = 0,
        shuffle: bool = True,
        rank: int | Literal["slurm"] | None = None,
        ranks: int | None = None,
        drop_last: bool = False,
        broken: Literal["skip", "fatal"] = "skip",
        threads: int | None = None,
        memory: int | None = None,
        ring: int = 4,
        ordered: bool = True,
        direct: bool = False,
        pinned: bool = False,
        cache: int | Literal["auto"] | SampleCache | None = None,
        cache_peers: str | None = None,
    ):
        """Starts the threads.

        augment: what a picture's square is made of: "random", to train with, a
        random part of it, flipped in one case of two; "centre", to validate
        with, the centred square whose side is 224/256 of the picture's smaller
        one, as Resize(256) and CenterCrop(224) leave it.
        rank, ranks: of this process; by default those of torch.distributed
        where it is initialised, else 0 of 1; "slurm": SLURM_PROCID of
        SLURM_NTASKS.
        drop_last: the samples at an epoch's end that fill no batch, and those
        that are no whole round of all ranks, are left out; else the last batch
        is a short one, and the round is filled up from the epoch's beginning.
        broken: what becomes of a sample that cannot be read or decoded: "skip"
        leaves it out of its batch and logs its name, "fatal" raises OSError or
        ValueError. With several ranks a batch may come without any sample.
        threads: None: what Slurm gave, then what Penstock grants.
        memory: bytes that the ring and the threads may take.
        ring: batches prepared ahead, those in use included; there are more
        where the threads need them, and fewer where memory says so.
        ordered: False: an epoch's batches come as they become complete.
        direct: the data are read past the page cache.
        pinned: images are pinned memory from the first batch on that is taken
        in a thread with a CUDA context. A copy of them to a GPU that does not
        wait (non_blocking=True) wants them until it is done: TorchDataset sees
        to that, who takes batches from the Loader itself has to.
        cache: samples as they are stored come out of the node's cache of them:
        bytes that this job fills there; "auto": half of what its memory cgroups
        leave; or a SampleCache of the dataset. Where it cannot be had, that is
        logged, and the samples are read as ever.
        cache_peers: nodes that each keep a part of the data in their caches,
        this one among them; what is another one's part comes out of that one's
        memory before storage is read. "auto": the nodes of the Slurm job, or a
        list as Slurm writes it ("n[1-4],m7"). They know each other by munge;
        without it, or outside of a job, that is logged, and this node's cache
        is alone.

        Raises TypeError or ValueError for a value that is not allowed,
        ValueError for a cache of other data, OSError where the data cannot be
        read or memory is too little.
        """
        check_choices(augment, broken, threads, memory)
        if not isinstance(dataset, Dataset):
            dataset = open_dataset(dataset)
        self._dataset = dataset
        self._source, self._cache = source_of_loader(
            dataset, cache, cache_peers
        )
        self._batch_size = natural("batch_size", batch_size)
        self._drop_last = drop_last
        self._rank, self._ranks = own_rank(rank, ranks)
        self._options: dict[str, Any] = {
            "batch_size": self._batch_size,
            "crop": crop,
            "augment": augment,
            "seed": natural("seed", seed),
            "shuffle": shuffle,
            "ranks": self._ranks,
            "rank": self._rank,
            "drop_tail": drop_last,
            "broken_fatal": broken == "fatal",
            "ordered": ordered,
            "direct": direct,
            "pinned": pinned,
            "ring": natural("ring", ring),
            "memory_bytes": memory or 0,
            "threads": threads or 0,
        }
        self._awaits_pinning = pinned
        self._start(None)
        close_at_exit(self)

    def __len__(self) -> int:
        """Batches of a whole epoch; with one rank, those whose samples are all
        broken do not come."""
        more = 0 if self._drop_last else self._batch_size - 1
        return (self._stream.samples_per_epoch + more) // self._batch_size

    def __iter__(self) -> Iterator[Batch]:
        """The rest of the epoch after load_state_dict(), else the next epoch;
        an iterator that was left in the middle of one is at its end."""
        if self._is_amid:
            state = self.state_dict()
            state["epoch"] += 1
            state["position"] = 0
            self._start(state)
        self._epoch = Epoch(self)
        return self._epoch

    def state_dict(self) -> State:
        """Where to go on after the batches that were handed out. Any rank's
        does for all."""
        count, seed, shuffle, epoch, position = self._stream.state()
        return {
            "count": count,
            "seed": seed,
            "shuffle": shuffle,
            "epoch": epoch,
            "position": position,
        }

    def load_state_dict(self, state: State) -> None:
        """The next iterator goes on there, whatever the number of ranks.

        Raises ValueError for a state of another dataset size, seed or
        shuffling; the loader is then closed.
        """
        self._start(state)

    def _start(self, state: State | None) -> None:
        position = None
        if state is not None:
            self._stream.close()
            position = (
                state["count"],
                state["seed"],
                state["shuffle"],
                state["epoch"],
                state["position"],
            )
        self._stream = Stream(self._source, **self._options, position=position)
        self._is_amid = False
        self._epoch = None
        self._epoch_samples = self._samples_from(state)
        self._epoch_batches = 0

    def _samples_from(self, state: State | None) -> int:
        """Of this rank, up to the epoch's end."""
        whole = self._stream.samples_per_epoch
        if state is None:
            return whole
        more = 0 if self._drop_last else self._ranks - 1
        left = len(self._dataset) - state["position"] + more
        return left // self._ranks or whole

    def _next(self, epoch: Epoch) -> Batch | None:
        """None: the epoch has ended."""
        if epoch is not self._epoch:
            raise RuntimeError(
                "this iterator's epoch has ended: the loader was iterated over "
                "anew, or got another state"
            )
        while True:
            images, labels, indices, number, ends, is_pinned = self._take()
            whole, rest = divmod(self._epoch_samples, self._batch_size)
            # Without order the short batch may come before others.
            is_short = rest > 0 and number == self._epoch_batches + whole
            if ends:
                self._epoch = None
                self._epoch_samples = self._stream.samples_per_epoch
                self._epoch_batches += whole + (rest > 0)
            self._is_amid = not ends
            is_due = len(labels) > 0 or self._ranks > 1
            if is_due and not (self._drop_last and is_short):
                return Batch(images, labels, indices, is_pinned)
            if ends:
                return None
            del images

    def _take(self) -> tuple:
        waited_s = alone_s = 0.0
        while True:
            begin_s = time.monotonic()
            taken = self._next_of_stream()
            if taken is not None:
                if self._awaits_pinning:
                    self._note_pinning(taken[-1])
                return taken
            # Other threads may give one back, or a cycle of objects.
            gc.collect()
            slice_s = time.monotonic() - begin_s
            waited_s += slice_s
            alone_s = alone_s + slice_s if threading.active_count() == 1 else 0
            if alone_s > _ALONE_S or waited_s > _HELD_S:
                raise BufferError(
                    f"all batches of the ring (ring={self._options['ring']}) "
                    "are taken, and the oldest one's images are in use: no "
                    "other batch can come before they are freed. Copy what is kept "
                    "(images.copy(), tensor.clone()), or set ring= higher"
                )

    def _note_pinning(self, is_pinned: bool) -> None:
        refusal = "" if is_pinned else self._stream.pin_refusal()
        if refusal:
            _log.warning("batches stay pageable: %s", refusal)
        self._awaits_pinning = not is_pinned and not refusal

    def _end_step(self) -> None:
        self._stream.end_step()

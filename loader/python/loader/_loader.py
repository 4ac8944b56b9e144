"""The Loader: batches from the library's own threads."""

import gc
import logging
import threading
from collections.abc import Iterator
from typing import Any, Literal

from penstock.loader._base import StreamLoader, close_at_exit
from penstock.loader._batch import Batch, State
from penstock.loader._cache import SampleCache, source_of_loader
from penstock.loader._data import Paths, open_dataset
from penstock.loader._native import Dataset, Stream
from penstock.loader._options import check_choices, natural, own_rank

_log = logging.getLogger("penstock.loader")
# Limits on a wait for a batch: while other threads hold one that all others
# wait for, and while the only thread waits for itself. In calls of
# Stream.next(), of 0.1 s each: in a time the process may have been stopped.
_HELD_CALLS = 600
_ALONE_CALLS = 2


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
    """Iterate over it once per epoch. Belongs to the process that made it, and
    to one thread at a time."""

    _is_amid: bool  # whether batches of the epoch were returned
    _epoch: Epoch | None
    _epoch_samples: int  # of this rank, in the current epoch
    _epoch_batches: int  # of the stream, before this epoch

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

        augment: the square that is cut from a picture. "random", for training:
        a random part, flipped in one case of two. "centre", for validation: the
        centred square whose side is 224/256 of the picture's shorter side, as
        after Resize(256) and CenterCrop(224).
        rank, ranks: of this process. Default: those of torch.distributed if it
        is initialised, else 0 of 1. "slurm": SLURM_PROCID of SLURM_NTASKS.
        drop_last: True: leaves out the samples at an epoch's end that fill no
        batch, or no round of all ranks. False: the last batch is shorter, and
        the round is filled up from the epoch's beginning.
        broken: treatment of unreadable or undecodable samples. "skip" leaves
        the sample out of its batch and logs its name. "fatal" raises OSError or
        ValueError. With several ranks a batch may be empty.
        threads: None: first Slurm's number of CPUs, then Penstock's grant.
        memory: limit in bytes for the ring and the threads.
        ring: batches prepared ahead, including those in use. There are more if
        the threads need them, and fewer if memory limits them.
        ordered: False: an epoch's batches arrive as they are completed.
        direct: read the data past the page cache.
        pinned: images are pinned memory, from the first batch on that is taken
        in a thread with a CUDA context. A copy to a GPU with non_blocking=True
        needs them until it is done. TorchDataset ensures that; users of the
        Loader itself must.
        cache: stored samples come from the node's cache. A number: bytes that
        this job fills there; "auto": half of what its memory cgroups leave; or
        a SampleCache of the dataset. If the cache is unavailable, that is
        logged, and the samples are read from storage.
        cache_peers: nodes that each cache a part of the data, including this
        one. Samples of another node's part come from its memory before storage
        is read. "auto": the nodes of the Slurm job; or a list in Slurm's format
        ("n[1-4],m7"). Nodes authenticate by munge. Without munge or outside a
        job, that is logged, and this node's cache is used alone.

        Raises TypeError or ValueError for an invalid value, ValueError for a
        cache of other data, OSError for unreadable data or too little memory.
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
        """Returns the number of batches of a whole epoch. With one rank,
        batches of only broken samples are skipped."""
        more = 0 if self._drop_last else self._batch_size - 1
        return (self._stream.samples_per_epoch + more) // self._batch_size

    def __iter__(self) -> Iterator[Batch]:
        """Returns the rest of the epoch after load_state_dict(), else the next
        epoch. An unfinished earlier iterator ends."""
        if self._is_amid:
            state = self.state_dict()
            state["epoch"] += 1
            state["position"] = 0
            self._start(state)
        self._epoch = Epoch(self)
        return self._epoch

    def state_dict(self) -> State:
        """Returns the position after the batches already returned. Any rank's
        state serves all ranks."""
        count, seed, shuffle, epoch, position = self._stream.state()
        return {
            "count": count,
            "seed": seed,
            "shuffle": shuffle,
            "epoch": epoch,
            "position": position,
        }

    def load_state_dict(self, state: State) -> None:
        """Makes the next iterator continue at the state, for any number of
        ranks.

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
        """Returns this rank's number of samples up to the epoch's end."""
        whole = self._stream.samples_per_epoch
        if state is None:
            return whole
        more = 0 if self._drop_last else self._ranks - 1
        left = len(self._dataset) - state["position"] + more
        return left // self._ranks or whole

    def _next(self, epoch: Epoch) -> Batch | None:
        """Returns None at the epoch's end."""
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
        calls = alone_calls = 0
        while True:
            taken = self._next_of_stream()
            if taken is not None:
                if self._awaits_pinning:
                    self._note_pinning(taken[-1])
                return taken
            # Other threads, or the collection of a cycle, may free a batch.
            gc.collect()
            is_alone = threading.active_count() == 1
            alone_calls = alone_calls + 1 if is_alone else 0
            calls += 1
            if alone_calls > _ALONE_CALLS or calls > _HELD_CALLS:
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

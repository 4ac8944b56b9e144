"""Data sources of an analysed loader: its own order, a repeated subset, or
files dropped from the page cache. The source changes while the loader's workers
run."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from penstock._analysis_files import Notes, drop_held
from penstock._analysis_worker import (
    NO_END,
    Endless,
    FedSamples,
    FedStream,
    Indices,
    Order,
    SampleFiles,
    StreamIndex,
)
from penstock._batch import batch_samples
from penstock._clone import (
    WorkerStart,
    clone,
    is_data_loader,
    is_iterable_style,
    stock_iter,
    why_not_cloned,
    worker_pids,
)


class Feed:
    """An endless iterator over a loader's batches. Single-threaded use."""

    # The reason for which subsets and cold data are unavailable; "" if
    # available.
    only_replays = ""

    def __init__(self, loader: Any):
        self.workers = getattr(loader, "num_workers", 0)
        factor = getattr(loader, "prefetch_factor", None) or 2
        # Batches in progress at once.
        self.depth = max(2, factor * self.workers)
        self.notes = Notes(self.workers)
        self.order = Order()

    def change(self, cold: bool, subset: int = NO_END) -> None:
        """Sets the order of batches prepared from now on; without a subset, all
        data. Batches in progress come first; draw() distinguishes them."""
        self.order = Order(self.order.generation + 1, cold, subset)

    def draw(self) -> tuple[Any, bool]:
        """Returns a batch, and whether the current order prepared it. Raises
        the loader's exceptions."""
        raise NotImplementedError

    def pass_samples(self) -> int:
        """Returns the number of samples in one pass over the subset, as far as
        known."""
        return self.order.subset

    def pids(self) -> list[int]:
        """Returns the process IDs of the loader's workers."""
        raise NotImplementedError


class _LoaderFeed(Feed):
    """A torch DataLoader. Batches come in the order of their indices, so the
    n-th batch drawn is the n-th requested."""

    def __init__(self, loader: Any, dataset: Any):
        """dataset: a proxy that understands the result of _index(). Calls
        _index()."""
        self._asked: deque[int] = deque()  # requested generations
        batched = loader.batch_sampler is not None
        parts = {
            "dataset": dataset,
            "batch_sampler" if batched else "sampler": _Sampler(self._ask),
            "_iterator": None,
            "_IterableDataset_len_called": None,
        }
        if self.workers > 0:
            start = WorkerStart(loader.worker_init_fn, self.notes)
            parts["worker_init_fn"] = start
        if hasattr(loader, "in_order"):
            parts["in_order"] = True
        self._iterator = stock_iter(clone(loader, **parts))

    def draw(self) -> tuple[Any, bool]:
        batch = next(self._iterator)
        return batch, self._asked.popleft() == self.order.generation

    def pids(self) -> list[int]:
        return worker_pids(self._iterator)

    def _ask(self) -> Any:
        self._asked.append(self.order.generation)
        return self._index()

    def _index(self) -> Any:
        raise NotImplementedError


class _Sampler:
    """Yields indices for ever."""

    def __init__(self, draw: Callable[[], Any]):
        self._draw = draw

    def __iter__(self) -> Iterator[Any]:
        return iter(self._draw, self)  # the sentinel is never drawn

    def __len__(self) -> int:
        return NO_END


class SampleFeed(_LoaderFeed):
    """Feed of a map-style dataset.

    The subset consists of whole batches in the loader's own order. A shorter
    last batch is left out if there are others. Without a subset, the order
    continues where it last stopped."""

    def __init__(self, loader: Any):
        Feed.__init__(self, loader)
        self._batched = loader.batch_sampler is not None
        sampler = loader.batch_sampler if self._batched else loader.sampler
        self._rest = iter(sampler)
        self._known: list[tuple[Any, int]] = []  # indices, first sample
        self._samples = 0  # number of samples in the known batches
        self._used_up = False
        self._position = 0
        self._position_of_all = 0
        self._turn = 0
        files = SampleFiles(loader.dataset, self.notes)
        super().__init__(loader, FedSamples(loader.dataset, files))

    def change(self, cold: bool, subset: int = NO_END) -> None:
        if self.order.subset == NO_END:
            self._position_of_all = self._position
        super().change(cold, subset)
        self._position = self._position_of_all if subset == NO_END else 0
        self._begin_turn()

    def pass_samples(self) -> int:
        if not self._used_up:
            return self.order.subset
        return min(self.order.subset, self._samples)

    def _index(self) -> Indices:
        if not self._know(self._position):
            if not self._known:
                raise StopIteration
            self._position = 0
            self._begin_turn()
        indices, _ = self._known[self._position]
        self._position += 1
        return Indices(indices, self.order.cold, self._turn)

    def _begin_turn(self) -> None:
        """Drops open files from the page cache again."""
        if not self.order.cold:
            return
        self._turn += 1
        if self.workers > 0:  # own mapped pages would stay otherwise
            drop_held()

    def _know(self, position: int) -> bool:
        """Returns whether the subset has a batch at the position."""
        while position >= len(self._known) and not self._used_up:
            self._learn()
        if position >= len(self._known):
            return False
        return self._known[position][1] < self.order.subset

    def _learn(self) -> None:
        for indices in self._rest:
            self._known.append((indices, self._samples))
            self._samples += self._size(indices)
            return
        self._used_up = True
        last, first = self._known[-1] if self._known else ((), 0)
        if first > 0 and self._size(last) < self._size(self._known[0][0]):
            self._known.pop()
            self._samples = first

    def _size(self, indices: Any) -> int:
        return len(indices) if self._batched else 1


class StreamFeed(_LoaderFeed):
    """Feed of an IterableDataset: each worker restarts its part after its share
    of the subset."""

    def __init__(self, loader: Any):
        Feed.__init__(self, loader)
        self._batch = loader.batch_size or 1
        proxy = FedStream(loader.dataset, self.notes)
        super().__init__(loader, proxy)

    def _index(self) -> StreamIndex:
        share = -(-self.order.subset // max(1, self.workers))
        return StreamIndex(self._batch, self.order._replace(subset=share))


class _Stock:
    """A DataLoader, iterated past the patch that returns the analysis."""

    def __init__(self, loader: Any):
        self._loader = loader

    def __iter__(self) -> Iterator[Any]:
        return stock_iter(self._loader)


class IterableFeed(Feed):
    """Feed of any iterable: restarts after the subset."""

    def __init__(self, loader: Any):
        super().__init__(loader)
        self._batches = Endless(
            _Stock(loader) if is_data_loader(loader) else loader,
            self.notes,
            lambda: self.order,
            lambda batch: batch_samples(batch, loader),
        )
        if not self._batches.can_restart:
            self.only_replays = "the loader can be iterated over only once"
        elif self.pids():  # a restart would start the workers again
            why = why_not_cloned(loader)
            self.only_replays = f"workers cannot be told what to load: {why}"

    def draw(self) -> tuple[Any, bool]:
        return next(self._batches), True

    def pids(self) -> list[int]:
        return worker_pids(self._batches.iterator)


def make_feed(loader: Any) -> Feed:
    """Raises the loader's exceptions."""
    if why_not_cloned(loader) is not None:
        return IterableFeed(loader)
    if is_iterable_style(loader):
        return StreamFeed(loader)
    return SampleFeed(loader)

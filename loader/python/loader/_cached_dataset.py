"""Any dataset with a node's cache in front."""

import io
import logging
import operator
import pickle
import sys
import time
from typing import Any

from penstock.loader._cache import SampleCache

_log = logging.getLogger("penstock.loader")
# Seconds without pickling after the cache has rejected an item.
_REST_S = 1.0


class _Pickler(pickle.Pickler):
    """Pickles only a tensor's own bytes, not those of the tensor behind a
    view."""

    def reducer_override(self, value: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or type(value) is not torch.Tensor:
            return NotImplemented
        if value.is_contiguous():
            try:
                return torch.from_numpy, (value.numpy(),)
            except (RuntimeError, TypeError):  # NumPy lacks this type
                return NotImplemented
        if value.requires_grad or value.layout != torch.strided:
            return NotImplemented
        return value.clone().__reduce_ex__(pickle.HIGHEST_PROTOCOL)


def _pickled(item: Any) -> memoryview:
    out = io.BytesIO()
    _Pickler(out, 5).dump(item)
    return out.getbuffer()


class CachedDataset:
    """A map-style dataset whose items come from the cache if they are cached.

    Items are cached as its __getitem__ returns them. Apply random or changing
    transformations after the cache."""

    def __init__(self, dataset: Any, cache: SampleCache):
        """Raises ValueError for a cache of another number of samples, of a
        penstock Dataset's stored bytes, or of a group. Unpickling another
        user's data runs that user's code."""
        if cache._options["group"] is not None:
            raise ValueError(
                f"{cache.path}: a group's cache; items are unpickled, which "
                "would run whatever code another member put there"
            )
        if cache._is_of_dataset:
            raise ValueError(
                f"{cache.path}: is of samples as they are stored; open one for "
                "items with SampleCache(samples=, data=)"
            )
        if len(dataset) != cache.samples:
            raise ValueError(
                f"{cache.path}: of {cache.samples} samples, and the dataset "
                f"has {len(dataset)}"
            )
        self.dataset = dataset
        self._set(cache)

    def _set(self, cache: SampleCache | None) -> None:
        self.cache = cache
        self._has_warned = False
        self._rests_until_s = 0.0

    def __getstate__(self) -> Any:
        return self.dataset, self.cache and self.cache.__getstate__()

    def __setstate__(self, state: Any) -> None:
        self.dataset, cache_state = state
        cache = None
        if cache_state is not None:
            cache = SampleCache.__new__(SampleCache)
            try:
                cache.__setstate__(cache_state)
            except (MemoryError, OSError) as error:
                _log.warning("without a cache: %s", error)
                cache = None
        self._set(cache)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        number = self._number(index)
        if self.cache is None or number is None:
            return self.dataset[index]
        pickled = self.cache.get(number)
        if pickled is None:
            item = self.dataset[index]
            self._put(self.cache, number, item)
            return item
        try:
            return pickle.loads(pickled)
        except Exception as error:
            self._warn(f"cannot be unpickled: {error!r}")
            return self.dataset[index]

    def _number(self, index: Any) -> int | None:
        """Returns None for an index that only the dataset understands."""
        if isinstance(index, bool) or getattr(index, "ndim", 0) > 0:
            return None
        try:
            number = operator.index(index)
        except TypeError:
            return None
        return number if 0 <= number < len(self.dataset) else None

    def _put(self, cache: SampleCache, number: int, item: Any) -> None:
        if time.monotonic() < self._rests_until_s:
            cache._cache.count_miss()
            return
        try:
            pickled = _pickled(item)
        except Exception as error:
            self._warn(f"cannot be pickled: {error!r}")
            cache._cache.count_miss()
        else:
            cache.put(number, pickled)
        if number not in cache:
            self._rests_until_s = time.monotonic() + _REST_S

    def _warn(self, what: str) -> None:
        if not self._has_warned:
            _log.warning("an item of the dataset is not cached: it %s", what)
        self._has_warned = True

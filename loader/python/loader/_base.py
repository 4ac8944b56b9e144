"""The common base of Loader and SharedLoader: a stream of the library that
belongs to this process."""

import atexit
import logging
import weakref
from typing import TYPE_CHECKING, Any, Self

from penstock.loader._native import Dataset, Stream

if TYPE_CHECKING:
    from penstock.loader._cache import SampleCache
    from penstock.loader._native import Counters

_log = logging.getLogger("penstock.loader")


class StreamLoader:
    reports_progress = True  # watch() does not count it again
    _dataset: Dataset
    _batch_size: int
    _stream: Stream
    _cache: "SampleCache | None"

    @property
    def dataset(self) -> Dataset:
        return self._dataset

    @property
    def batch_size(self) -> int:
        return self._batch_size

    @property
    def epoch(self) -> int:
        """Returns the epoch of the next batch."""
        return self._stream.epoch

    def counters(self) -> "Counters":
        """Returns samples, bytes and times of this loader's threads so far."""
        return self._stream.counters()

    def close(self) -> None:
        """Ends the threads. Batches stay valid until they are freed."""
        self._stream.close()

    def _next_of_stream(self) -> tuple | None:
        """Returns Stream.next(); logs the errors since the last call."""
        try:
            return self._stream.next()
        finally:
            for why in self._stream.take_broken():
                _log.warning("skipped: %s", why)
            if self._cache:
                self._cache._log_warnings()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or sent to another "
            "process; its threads are in this one. Under a DataLoader set "
            "num_workers=0"
        )


_open: "weakref.WeakSet[StreamLoader]" = weakref.WeakSet()


def close_at_exit(loader: StreamLoader) -> None:
    _open.add(loader)


def _close_all() -> None:
    for loader in list(_open):
        loader.close()


atexit.register(_close_all)

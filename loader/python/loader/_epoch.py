"""One epoch of a Loader."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.loader._batch import Batch

if TYPE_CHECKING:
    from penstock.loader._loader import Loader


class Epoch(Iterator[Batch]):
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

"""The batches of a Loader, and the state for resuming."""

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class State(TypedDict):
    """The state for resuming an epoch, with any number of ranks."""

    count: int
    seed: int
    shuffle: bool
    epoch: int
    position: int


class Batch(tuple["NDArray[np.float32]", "NDArray[np.int64]"]):
    """The pair (images, labels), and the samples' numbers in the dataset.

    The images are in the loader's own memory. It is reused when their last
    array, view or tensor is gone, so copy images that are kept for long. The
    batch owns its labels and numbers.
    """

    indices: "NDArray[np.int64]"
    is_pinned: bool  # a GPU can copy images without the CPU's help

    def __new__(
        cls,
        images: "NDArray[np.float32]",
        labels: "NDArray[np.int64]",
        indices: "NDArray[np.int64]",
        is_pinned: bool = False,
    ) -> "Batch":
        self = super().__new__(cls, (images, labels))  # type: ignore[arg-type]
        self.indices = indices
        self.is_pinned = is_pinned
        return self

    @property
    def images(self) -> "NDArray[np.float32]":
        """Returns size x 3 x crop x crop; for records: size x tensor bytes."""
        return self[0]

    @property
    def labels(self) -> "NDArray[np.int64]":
        """Returns the labels; -1: none."""
        return self[1]

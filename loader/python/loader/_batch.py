"""What a Loader hands out, and what it goes on from."""

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class State(TypedDict):
    """All that has to be kept to go on with an epoch, by any number of
    ranks."""

    count: int
    seed: int
    shuffle: bool
    epoch: int
    position: int


class Batch(tuple["NDArray[np.float32]", "NDArray[np.int64]"]):
    """The pair (images, labels), and the samples' numbers in the dataset.

    The images are the loader's own memory, which is used again when their last
    array, view or tensor is gone: copy what is kept for long. Labels and
    numbers are the batch's own.
    """

    indices: "NDArray[np.int64]"
    is_pinned: bool  # a GPU copies from images without the CPU's help

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
        """size x 3 x crop x crop; of records: size x tensor bytes."""
        return self[0]

    @property
    def labels(self) -> "NDArray[np.int64]":
        """-1: none."""
        return self[1]

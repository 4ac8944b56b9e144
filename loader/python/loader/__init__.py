"""Batches of samples for a training loop, prepared by Penstock's loader.

    loader = penstock.loader.Loader("/data/train", batch_size=64)
    for epoch in range(epochs):
        for images, labels in loader:
            train(torch.from_numpy(images), torch.from_numpy(labels))

The loader uses the library's threads: no worker processes, no copies. See
penstock-python(7).
"""

from typing import TYPE_CHECKING, Any

from penstock.loader._batch import Batch, State
from penstock.loader._cache import SampleCache
from penstock.loader._cached_dataset import CachedDataset
from penstock.loader._data import open_dataset
from penstock.loader._loader import Loader
from penstock.loader._native import Dataset
from penstock.loader._shared_loader import SharedLoader

if TYPE_CHECKING:
    from penstock.loader._torch import TorchDataset as TorchDataset

__all__ = [
    "Batch",
    "CachedDataset",
    "Dataset",
    "Loader",
    "SampleCache",
    "SharedLoader",
    "State",
    "open_dataset",
]


def __getattr__(name: str) -> Any:
    if name == "TorchDataset":  # torch is imported only on demand
        from penstock.loader._torch import TorchDataset

        return TorchDataset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

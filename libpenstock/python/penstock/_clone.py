"""Copies a torch DataLoader with some parts replaced."""

import sys
from typing import Any

# Attribute of a patched function: torch's own one.
STOCK = "_penstock_stock"

# Attributes that decide how torch's own __iter__ iterates. A DataLoader whose
# class overrides one is not cloned.
_FIXED = (
    "__getattribute__ __setattr__ __getattr__ _get_iterator "
    "_index_sampler _auto_collation multiprocessing_context"
).split()


def is_data_loader(loader: object) -> bool:
    """Returns whether it is a torch DataLoader. Does not import torch."""
    torch_data = sys.modules.get("torch.utils.data")
    base = getattr(torch_data, "DataLoader", None)
    return isinstance(base, type) and isinstance(loader, base)


def stock_iter(loader: Any) -> Any:
    """Returns torch's own iterator: past the __iter__ of the loader's class,
    and past our patch."""
    method = sys.modules["torch.utils.data"].DataLoader.__iter__
    return getattr(method, STOCK, method)(loader)


def in_worker() -> bool:
    """Returns whether this process is a DataLoader's worker."""
    torch_data = sys.modules.get("torch.utils.data")
    return torch_data is not None and torch_data.get_worker_info() is not None


def worker_pids(iterator: object) -> list[int]:
    """Returns the worker processes of a torch DataLoader's iterator, if any."""
    workers = getattr(iterator, "_workers", [])
    pids = [getattr(worker, "pid", None) for worker in workers]
    return [pid for pid in pids if isinstance(pid, int)]


def why_not_cloned(loader: object) -> str | None:
    """Returns None if stock_iter() of a clone() yields the same batches as that
    of the loader; else the reason."""
    if not is_data_loader(loader):
        return "not a torch DataLoader"
    torch_data = sys.modules["torch.utils.data"]
    base, kind = torch_data.DataLoader, type(loader)
    for name in _FIXED:
        if getattr(kind, name, None) is not getattr(base, name, None):
            return f"its class {kind.__name__} has a {name} of its own"
    if any(vars(part).get("__slots__") for part in kind.__mro__):
        return f"its class {kind.__name__} has slots"
    pipes = tuple(
        getattr(torch_data, name)
        for name in ("IterDataPipe", "MapDataPipe")
        if hasattr(torch_data, name)
    )
    if isinstance(loader.dataset, pipes):
        return "torch rewrites data pipes"
    if in_worker():
        return "inside a worker"
    return None


def is_iterable_style(loader: Any) -> bool:
    """Returns whether a DataLoader's dataset is an IterableDataset."""
    return isinstance(
        loader.dataset, sys.modules["torch.utils.data"].IterableDataset
    )


def clone(loader: Any, **parts: Any) -> Any:
    """Returns a loader of the same class with the same attributes, except
    parts. Runs no code of the loader's class, and leaves the loader unchanged.
    """
    copy = object.__new__(type(loader))
    copy.__dict__.update(loader.__dict__)
    # DataLoader refuses assignment of its dataset and samplers.
    for name, part in parts.items():
        object.__setattr__(copy, name, part)
    return copy


class DatasetProxy:
    """Stands for a dataset inside a DataLoader.

    All attribute access goes to the dataset, including its class (for
    isinstance) and assignments. A subclass adds the methods that torch calls to
    load samples."""

    __slots__ = ("_penstock_dataset", "_penstock_part")

    def __init__(self, dataset: Any, part: Any):
        """part: a subclass's own data; picklable."""
        object.__setattr__(self, "_penstock_dataset", dataset)
        object.__setattr__(self, "_penstock_part", part)

    @property
    def __class__(self) -> type:
        return type(self._penstock_dataset)

    def __reduce_ex__(self, protocol: int) -> tuple:
        parts = (self._penstock_dataset, self._penstock_part)
        return type(self), parts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._penstock_dataset, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._penstock_dataset, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._penstock_dataset, name)

    def __len__(self) -> int:
        return len(self._penstock_dataset)

    def __repr__(self) -> str:
        return repr(self._penstock_dataset)


def _show_dataset_itself() -> None:
    """Makes torch's worker_info name the dataset instead of its proxy, in a
    worker."""
    try:
        info = sys.modules["torch.utils.data"].get_worker_info()
        if issubclass(type(info.dataset), DatasetProxy):
            dataset = info.dataset._penstock_dataset
            # The attribute is read-only.
            object.__setattr__(info, "dataset", dataset)
    except (AttributeError, TypeError):
        pass  # another torch stores it elsewhere: the proxy works too


class WorkerStart:
    """Wraps a DataLoader's worker_init_fn; first enters the worker in part."""

    def __init__(self, start: Any, part: Any):
        self._start = start
        self._part = part

    def __call__(self, worker: int) -> None:
        self._part.enter_worker(worker)
        _show_dataset_itself()
        if self._start is not None:
            self._start(worker)


def load_batch(dataset: Any, indices: Any) -> Any:
    """Returns the samples of a batch, as torch's own fetcher does."""
    load = getattr(dataset, "__getitems__", None)
    if load:
        return load(indices)
    return [dataset[index] for index in indices]

"""Determines the number of samples in a batch, and who reports it."""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

_PARTS = 8  # of a batch, examined for their length


def batch_samples(batch: object, loader: object) -> int:
    """Returns the length of the batch's first tensor or sequence. Falls back to
    the loader's batch_size, then to 1."""
    try:
        length = _length(batch)
    except Exception:  # of a class of the program
        length = None
    if length is None:
        length = getattr(loader, "batch_size", None)
    return length if isinstance(length, int) and length >= 0 else 1


def _length(batch: Any, depth: int = 4) -> int | None:
    """Returns None if the batch holds no tensor and no sequence."""
    if isinstance(batch, (str, bytes)) or depth == 0:
        return None
    if isinstance(batch, (list, tuple)):
        length = _first_length(batch[:_PARTS], depth)
        return len(batch) if length is None else length
    if not hasattr(batch, "__len__"):
        return None
    shape = getattr(batch, "shape", None)
    if isinstance(shape, tuple):  # a tensor's; quicker than len()
        return shape[0] if shape else None
    if isinstance(batch, Mapping):
        parts = itertools.islice(batch.values(), _PARTS)
        return _first_length(parts, depth)
    try:
        return len(batch)
    except Exception:  # a class of the program
        return None


def _first_length(parts: Iterable[Any], depth: int) -> int | None:
    for part in parts:
        length = _length(part, depth - 1)
        if length is not None:
            return length
    return None


def reports_itself(loader: object) -> bool:
    """Returns whether the loader is a penstock.loader.Loader, or a DataLoader
    of one. Such samples must not be counted twice."""
    return getattr(loader, "reports_progress", False) or getattr(
        getattr(loader, "dataset", None), "reports_progress", False
    )

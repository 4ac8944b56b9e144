"""Determines the number of samples in a batch."""

import itertools
from collections.abc import Mapping

_PARTS = 8  # of a batch, examined for their length


def batch_samples(batch: object, loader: object) -> int:
    """Returns the length of the batch's first tensor or sequence. Falls back to
    the loader's batch_size, then to 1."""
    length = _length(batch)
    if length is None:
        length = getattr(loader, "batch_size", None)
    return length if isinstance(length, int) and length >= 0 else 1


def _length(batch: object, depth: int = 4) -> int | None:
    """Returns None if the batch holds no tensor and no sequence."""
    if isinstance(batch, (str, bytes)) or depth == 0:
        return None
    if isinstance(batch, Mapping):
        parts = itertools.islice(batch.values(), _PARTS)
        lengths = (_length(part, depth - 1) for part in parts)
        return next((n for n in lengths if n is not None), None)
    if isinstance(batch, (list, tuple)):
        lengths = (_length(part, depth - 1) for part in batch[:_PARTS])
        return next((n for n in lengths if n is not None), len(batch))
    if not hasattr(batch, "__len__"):
        return None
    try:
        return len(batch)
    except TypeError:  # a tensor without dimensions
        return None

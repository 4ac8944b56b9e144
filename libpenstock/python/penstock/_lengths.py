"""The number of samples in a DataLoader's batches, as its sampler chose them:
exact, whatever collate_fn makes of them."""

from typing import Any

_LENGTHS = "_penstock_lengths"  # attribute of an iterator
_MAP_STYLE = 0  # torch's _DatasetKind; others decide a batch's length themselves
_MOST = 4096  # open batches


def note_length(iterator: Any, index: Any) -> None:
    """After the sampler's next item."""
    known = vars(iterator)
    batched = known.get("_auto_collation", True)
    if not isinstance(index, (list, tuple) if batched else list) or (
        known.get("_dataset_kind") != _MAP_STYLE
    ):
        return
    lengths = known.get(_LENGTHS)
    if lengths is None:
        lengths = known[_LENGTHS] = {}
    if len(lengths) > _MOST:
        lengths.clear()
    # The number of the batch, with worker processes.
    lengths[known.get("_send_idx", -1)] = len(index)


def take_length(iterator: Any) -> int | None:
    """Returns the length of the batch that the iterator has just returned;
    None if unknown."""
    known = vars(iterator)
    lengths = known.get(_LENGTHS)
    if not lengths or not known.get("_in_order", True):
        return None
    return lengths.pop(known.get("_rcvd_idx", 0) - 1, None)

"""The mark of a DataLoader that watch() got. It is the loader's attribute, so
that it survives copies and pickles."""

from typing import Any

_NAME = "_penstock_watched"  # Lightning copies no attribute with an underscore


class Mark:
    """own_workers: the user's num_workers, if its number is elastic."""

    def __init__(self, own_workers: int | None):
        self.own_workers = own_workers

    def __reduce__(self) -> tuple:
        return _restored, (self.own_workers,)


def _restored(own_workers: int | None) -> Mark:
    """Makes the process that loads a pickle measure the loader."""
    from penstock._instrument import instrument

    instrument()
    return Mark(own_workers)


def set_mark(loader: Any, mark: Mark) -> None:
    vars(loader)[_NAME] = mark


def mark_of(loader: Any) -> Mark | None:
    return vars(loader).get(_NAME)

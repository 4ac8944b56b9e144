"""The mark of a DataLoader that watch() got. It is the loader's attribute, so
that it survives copies and pickles."""

from typing import Any

_NAME = "_penstock_watched"  # Lightning copies no attribute with an underscore


class Mark:
    """elastic: how its workers follow the grant; None: they do not."""

    def __init__(self, elastic: str | None):
        self.elastic = elastic
        self.warned = False  # that they do not

    def __reduce__(self) -> tuple:
        return _restored, (self.elastic,)


def _restored(elastic: str | None) -> Mark:
    """Makes the process that loads a pickle measure the loader."""
    from penstock._instrument import instrument

    instrument()
    return Mark(elastic)


def set_mark(loader: Any, mark: Mark) -> None:
    vars(loader)[_NAME] = mark


def mark_of(loader: Any) -> Mark | None:
    return vars(loader).get(_NAME)

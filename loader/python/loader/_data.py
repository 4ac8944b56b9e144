"""Opens the source of samples."""

import logging
import os
from collections.abc import Sequence
from typing import Literal

from penstock.loader._native import Dataset
from penstock.loader._native import open_dataset as _open_dataset
from penstock.loader._options import natural

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Paths = Path | Sequence[Path]


_log = logging.getLogger("penstock.loader")


def open_dataset(
    paths: Paths,
    *,
    record_bytes: int = 0,
    label_bytes: int = 0,
    header_bytes: int = 0,
    image: str = "",
    label: str = "cls",
    key: Literal["first", "last"] = "first",
    allow_empty: bool = False,
) -> Dataset:
    """Opens a folder of pictures, an LMDB database of pictures, tar shards, or
    a file of records. Paths may have braces and patterns: "{00..12}.tar".

    A record is a label of label_bytes (0 to 4) and a tensor, record_bytes
    together. The records follow a header.

    image: endings of pictures, in the order of preference: "jpg;png". "": all
    that the loader reads.
    label: ending of a tar shard's labels; "": it has none.
    key: the dot of a shard's names before which a sample's key ends.
    allow_empty: classes may have no picture.

    Logs one line of what it found and left out, as Dataset.describe() returns
    it: as a warning if that may have been meant.

    Raises OSError for unreadable data; ValueError for an unknown format, names
    that can be read in several ways, or data that would be left out.
    """
    if key not in ("first", "last"):
        raise ValueError(f'key={key!r}; allowed: "first", "last"')
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    dataset = _open_dataset(
        [os.fsencode(path) for path in paths],
        record_bytes=natural("record_bytes", record_bytes),
        label_bytes=natural("label_bytes", label_bytes),
        header_bytes=natural("header_bytes", header_bytes),
        image=image,
        label=label,
        last_dot=key == "last",
        allow_empty=allow_empty,
    )
    facts = dataset.describe()
    level = logging.WARNING if facts["doubtful"] else logging.INFO
    _log.log(level, "%s: %s", dataset.path, facts["text"])
    return dataset

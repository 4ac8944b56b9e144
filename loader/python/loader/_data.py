"""Opens the source of samples."""

import os
from collections.abc import Sequence

from penstock.loader._native import Dataset
from penstock.loader._native import open_dataset as _open_dataset
from penstock.loader._options import natural

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Paths = Path | Sequence[Path]


def open_dataset(
    paths: Paths,
    *,
    record_bytes: int = 0,
    label_bytes: int = 0,
    header_bytes: int = 0,
) -> Dataset:
    """Opens a folder of pictures, an LMDB database of pictures, tar shards, or
    a file of records.

    A record is a label of label_bytes (0 to 4) and a tensor, record_bytes
    together. The records follow a header.

    Raises OSError for unreadable data, ValueError for an unknown format.
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    return _open_dataset(
        [os.fsencode(path) for path in paths],
        record_bytes=natural("record_bytes", record_bytes),
        label_bytes=natural("label_bytes", label_bytes),
        header_bytes=natural("header_bytes", header_bytes),
    )

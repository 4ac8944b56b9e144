"""Databases to read, made once by `penstock lmdb import` and kept in the build
directory."""

import dataclasses
import pathlib
import random
import tempfile

from bench.program import run



@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    record_bytes: int
    records: int
    batch: int  # of a rank and step


# More than four times the memory of cold runs.
KINDS = [Kind("12k", 12000, 110000, 32), Kind("150k", 150000, 9000, 4)]


@dataclasses.dataclass(frozen=True)
class Database:
    name: str
    path: pathlib.Path  # the data file
    batch: int

    @property
    def bytes(self):
        return self.path.stat().st_size


def write_files(folder, kind):
    """Writes files of the kind's size plus or minus an eighth. They are named
    as pictures, which import requires."""
    source = random.Random(kind.name)
    pool = source.randbytes(4 << 20)
    for i in range(kind.records):
        size = source.randrange(kind.record_bytes * 7 // 8,
                                kind.record_bytes * 9 // 8)
        at = source.randrange(len(pool) - size)
        with open(f"{folder}/{i:08d}.jpg", "wb") as out:
            out.write(pool[at:at + size])


def make(build, kind, progress):
    folder = build / "bench_lmdb" / f"{kind.name}-{kind.records}"
    path = folder / "data.mdb"
    if not path.exists():
        progress.phase(f"a database of {kind.records} records of {kind.name}B")
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as files:
            write_files(files, kind)
            run(build / "bin" / "penstock", "lmdb", "import", files, folder)
    return Database(kind.name, path, kind.batch)


def given(path):
    """Returns a user's own database."""
    path = pathlib.Path(path)
    return Database(path.name, path / "data.mdb" if path.is_dir() else path, 8)

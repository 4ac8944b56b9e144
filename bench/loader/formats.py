"""The same pictures in the peers' formats, made once in the build directory."""

import io
import shutil
import tarfile

from bench.program import run

PICTURES = 512
SIZE = (500, 375)
QUALITY = 90
SHARDS = 8
# FFCV's writer decodes its input and encodes it again with this quality.
WRITE_BETON = """
import sys
from PIL import Image
from ffcv.fields import RGBImageField
from ffcv.writer import DatasetWriter
path, quality, *names = sys.argv[1:]
class Samples:
    def __len__(self):
        return len(names)
    def __getitem__(self, index):
        return (Image.open(names[index]).convert("RGB"),)
field = RGBImageField(write_mode="jpg", jpeg_quality=int(quality))
DatasetWriter(path, {"image": field}, num_workers=1).from_indexed_dataset(
    Samples())
"""


class Formats:
    """programs: peers.Programs."""

    def __init__(self, build, programs, progress):
        self._build = build
        self._programs = programs
        self._progress = progress
        self._folder = build / "bench_loader"
        self._jpeg = self._folder / "jpeg"

    def path(self, peer):
        """Returns the path of the pictures; makes them if missing."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._jpeg.exists():
            self._progress.phase("making the pictures (kept for the next run)")
        # The program leaves a complete set unchanged.
        run(self._build / "bin" / "penstock-demo-data", "--out", self._jpeg,
            "--count", PICTURES, "--width", SIZE[0], "--height", SIZE[1],
            "--quality", QUALITY)
        if peer.form == "jpeg":
            return self._jpeg
        path = self._folder / peer.form
        if not path.exists():
            self._progress.phase(f"making the pictures' {peer.form}")
            part = self._folder / f"{peer.form}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.unlink(missing_ok=True)
            getattr(self, f"_make_{peer.form}")(part, peer)
            part.rename(path)
        return path

    def _names(self):
        return sorted(self._jpeg.glob("*.jpg"))

    def _make_lmdb(self, path, _):
        import lmdb  # pylint: disable=import-outside-toplevel
        with lmdb.open(str(path), map_size=1 << 30) as environment:
            with environment.begin(write=True) as writing:
                for number, name in enumerate(self._names()):
                    writing.put(f"{number:08}".encode(), name.read_bytes())

    def _make_shards(self, path, _):
        path.mkdir()
        names = self._names()
        for shard in range(SHARDS):
            with tarfile.open(path / f"{shard:04}.tar", "w") as tar:
                for name in names[shard::SHARDS]:
                    data = name.read_bytes()
                    member = tarfile.TarInfo(name.name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))

    def _make_beton(self, path, peer):
        run(self._programs.python(peer), "-c", WRITE_BETON, path, QUALITY,
            *self._names())

"""Data for the tests of penstock.loader. The tests are skipped if it was not
built."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy

    from penstock import loader as penstock_loader
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

SIDE = 8


def write_records(path, count):
    """Writes records, each a label, 100 + i, and the tensor (i, 7)."""
    rows = [bytes([(100 + i) % 256, i % 256, 7]) for i in range(count)]
    Path(path).write_bytes(b"".join(rows))


def write_pictures(folder, count, side=40):
    """Writes PPMs of noise, of two classes."""
    noise = numpy.random.default_rng(7)
    for i in range(count):
        pixels = noise.integers(0, 256, (side, side, 3), numpy.uint8)
        path = Path(folder) / "ab"[i % 2] / f"{i:03}.ppm"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"P6 %d %d 255\n" % (side, side) + pixels.tobytes())


class LoaderCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="penstock-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.pictures_folder = os.path.join(folder.name, "pictures")
        os.mkdir(self.pictures_folder)

    def records(self, count=100):
        path = os.path.join(self.folder, f"records{count}")
        if not os.path.exists(path):  # another loader may read it
            write_records(path, count)
        return penstock_loader.open_dataset(
            path, record_bytes=3, label_bytes=1
        )

    def pictures(self, count=12):
        if not os.listdir(self.pictures_folder):
            write_pictures(self.pictures_folder, count)
        return penstock_loader.open_dataset(self.pictures_folder)

    def load(self, dataset, batch_size=16, **options):
        loader = penstock_loader.Loader(dataset, batch_size, **options)
        self.addCleanup(loader.close)
        return loader


def numbers(batches):
    """The samples' numbers, batch by batch."""
    return [batch.indices.tolist() for batch in batches]

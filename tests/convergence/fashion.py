"""Fashion-MNIST, of Debian's dataset-fashion-mnist: 60,000 pictures of clothes
to train with and 10,000 to test, of 28 x 28 pixels, in ten classes."""

import gzip
from pathlib import Path

import torch
from torch.nn import functional

FOLDER = Path("/usr/share/datasets/fashion-mnist")
_HEADER_BYTES = {"images-idx3": 16, "labels-idx1": 8}


def load(part):
    """Pictures of 14 x 14 pixels, each the mean of four, centred around 0;
    and their classes. part: "train" or "t10k"."""
    pixels = _read(part, "images-idx3").reshape(-1, 1, 28, 28)
    pictures = functional.avg_pool2d(pixels.float(), 2)
    return (pictures / 255 - 0.286) / 0.353, _read(part, "labels-idx1").long()


def _read(part, kind):
    with gzip.open(FOLDER / f"{part}-{kind}-ubyte.gz") as file:
        data = bytearray(file.read())
    return torch.frombuffer(data, dtype=torch.uint8)[_HEADER_BYTES[kind] :]

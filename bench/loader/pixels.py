"""Compares Penstock's prepared pictures with torchvision's, for the same crops
of natural photographs."""

import dataclasses
import pathlib
import subprocess
import tempfile

from bench.loader.loops import AREA, DEVIATION, MEAN, RATIO, SIDE, open_rgb
from bench.program import BenchError

PACKAGE = "mate-backgrounds"
FOLDER = pathlib.Path("/usr/share/backgrounds/mate/nature")
REDUCED = (500, 375)  # the average size of ImageNet's pictures
QUALITY = 90
CROPS = 8  # per picture


@dataclasses.dataclass(frozen=True)
class Difference:
    """Difference of one crop, in steps of 1/255."""
    mean: float
    p99: float


def missing():
    """Returns the reason for which nothing can be compared, or None."""
    if not any(FOLDER.glob("*.jpg")):
        return f"no photographs in {FOLDER} (Debian's {PACKAGE})"
    try:
        # pylint: disable=import-outside-toplevel,unused-import
        import torchvision  # noqa: F401
    except ImportError as error:
        return f"{error} (Debian's python3-torchvision)"
    return None


def photographs(folder):
    """Returns the package's pictures, and each reduced to a data set's usual
    size."""
    out = sorted(FOLDER.glob("*.jpg"))
    for path in list(out):
        small = folder / path.name
        open_rgb(path).resize(REDUCED).save(small, quality=QUALITY)
        out.append(small)
    return out


def boxes(image):
    """Yields left, top, width, height, flip, drawn by torchvision."""
    from torchvision import transforms  # pylint: disable=C0415
    for number in range(CROPS):
        top, left, high, wide = transforms.RandomResizedCrop.get_params(
            image, AREA, RATIO)
        yield left, top, wide, high, number % 2


def expected(image, box):
    """Returns torchvision's result, antialiased, 0 to 255."""
    import numpy  # pylint: disable=C0415
    from torchvision.transforms import functional  # pylint: disable=C0415
    left, top, wide, high, flip = box
    image = functional.resized_crop(image, top, left, high, wide,
                                    [SIDE, SIDE], antialias=True)
    image = functional.hflip(image) if flip else image
    return numpy.asarray(image, "float32").transpose(2, 0, 1)


def prepared(program, jobs):
    """Returns Penstock's results, 0 to 255."""
    import numpy  # pylint: disable=C0415
    lines = "".join(" ".join(map(str, (*box, path))) + "\n"
                    for path, box in jobs)
    done = subprocess.run([program, "crops"], input=lines.encode(),
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise BenchError(done.stderr.decode().strip())
    floats = numpy.frombuffer(done.stdout, "float32")
    floats = floats.reshape(len(jobs), 3, SIDE, SIDE)
    shape = (3, 1, 1)
    return 255 * (floats * numpy.reshape(DEVIATION, shape)
                  + numpy.reshape(MEAN, shape))


def compare(program):
    """Returns a Difference for each crop; the crops are the same in every
    run."""
    import numpy  # pylint: disable=C0415
    import torch  # pylint: disable=C0415
    torch.manual_seed(1)
    out = []
    with tempfile.TemporaryDirectory(prefix="penstock-pixels-") as folder:
        for path in photographs(pathlib.Path(folder)):
            image = open_rgb(path)
            jobs = [(path, box) for box in boxes(image)]
            for (_, box), found in zip(jobs, prepared(program, jobs)):
                off = numpy.abs(found - expected(image, box))
                out.append(Difference(float(off.mean()),
                                      float(numpy.percentile(off, 99))))
    return out

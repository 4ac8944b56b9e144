"""The pictures to load, in their own ext4 image, made once and kept in the
build directory."""

from bench.demo.data import kept_image
from bench.program import run

COUNT = 6000
SIZE = (500, 375)
QUALITY = 90


def make_image(build, progress):
    def fill(content):
        run(build / "bin" / "penstock-demo-data", "--out", content / "jpeg",
            "--count", COUNT, "--width", SIZE[0], "--height", SIZE[1],
            "--quality", QUALITY)

    return kept_image(build / "bench_cache" / f"pictures-{COUNT}.img",
                      "the pictures", fill, progress)


def total_bytes(folder):
    return sum(path.stat().st_size for path in folder.glob("*.jpg"))

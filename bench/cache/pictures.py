"""The pictures that are loaded: an ext4 image of its own, made once and kept
in the build directory."""

import shutil

from bench.demo.data import make_ext4, run

COUNT = 6000
SIZE = (500, 375)
QUALITY = 90


def make_image(build, progress):
    folder = build / "bench_cache"
    image = folder / f"pictures-{COUNT}.img"
    if image.exists():
        return image
    progress.phase("making the pictures (kept for the next run)")
    content = folder / "content"
    shutil.rmtree(content, ignore_errors=True)
    content.mkdir(parents=True)
    run(build / "bin" / "penstock-demo-data", "--out", content / "jpeg",
        "--count", COUNT, "--width", SIZE[0], "--height", SIZE[1],
        "--quality", QUALITY)
    make_ext4(content, image)
    return image


def total_bytes(folder):
    return sum(path.stat().st_size for path in folder.glob("*.jpg"))

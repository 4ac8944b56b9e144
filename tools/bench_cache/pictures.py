"""The pictures that are loaded: an ext4 image of its own, made once and kept
in the build directory."""

import shutil

from demo_lib.data import run

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
    part = image.with_suffix(".part")
    part.unlink(missing_ok=True)
    size = sum(path.stat().st_size for path in content.rglob("*"))
    run("/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m",
        "0", "-d", content, part, f"{size * 12 // 10 // 1024 + 8192}k")
    shutil.rmtree(content)
    part.rename(image)
    return image


def total_bytes(folder):
    return sum(path.stat().st_size for path in folder.glob("*.jpg"))

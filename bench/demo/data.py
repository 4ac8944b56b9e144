"""The pool's content: an ext4 image with the demo's data sets, made once and
kept in the build directory."""

import os
import pathlib
import shutil

from bench.program import run

PROOF_FILE = "proof.bin"
PROOF_S = 3           # seconds of the pool's bandwidth: the size of fio's file
MAX_PROOF_BYTES = 1 << 30
CHUNK_BYTES = 1 << 20
SAMPLE_SUFFIX = {"jpeg": "*.jpg", "raw": "*.ppm"}


def make_image(build, demo_mix, slots, progress):
    """Returns the image's path. An image of the same mix is reused."""
    proof_bytes = min(MAX_PROOF_BYTES,
                      int(PROOF_S * demo_mix.pool_bytes_per_s(slots)))
    folder = build / "demo"
    image = folder / (f"pool-{demo_mix.jpeg_samples}-{demo_mix.raw_samples}-"
                      f"{proof_bytes >> 20}.img")
    counts = {"jpeg": demo_mix.jpeg_samples, "raw": demo_mix.raw_samples}

    def fill(content):
        for name, count in counts.items():
            run(build / "bin" / "penstock-demo-data", "--out", content / name,
                "--format", name, "--count", count)
        write_noise(content / PROOF_FILE, proof_bytes)

    return kept_image(image, "the pool's data", fill, progress)


def kept_image(image, what, fill, progress):
    """Returns an image, made once from the files that fill() writes to a
    folder."""
    if image.exists():
        return image
    progress.phase(f"making {what} (kept for the next run)")
    content = image.parent / "content"
    shutil.rmtree(content, ignore_errors=True)
    content.mkdir(parents=True)
    fill(content)
    make_ext4(content, image)
    return image


def make_ext4(content, image):
    """Makes an image of the folder and removes the folder. The image appears
    only when complete."""
    part = image.with_suffix(".part")
    part.unlink(missing_ok=True)
    files = [path.stat().st_size for path in content.rglob("*")]
    # Small files take whole blocks, and an inode each.
    size = sum(files) * 11 // 10 + len(files) * 4096
    run("/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m",
        "0", "-d", content, part, f"{size // 1024 + 8192}k")
    shutil.rmtree(content)
    part.rename(image)


def write_noise(path, size):
    with open(path, "wb") as file:
        for _ in range(size // CHUNK_BYTES):
            file.write(os.urandom(CHUNK_BYTES))


def bytes_per_sample(folder, format_name):
    """Returns the mean size of the folder's samples."""
    sizes = [path.stat().st_size for path in
             pathlib.Path(folder).glob(SAMPLE_SUFFIX[format_name])]
    return sum(sizes) / len(sizes)

"""Properties of the storage and memory under a data set."""

import os
import resource
import time

from penstock import _memory
from penstock._analysis_files import drop

_IN_MEMORY = ("tmpfs", "ramfs", "hugetlbfs")
# Kinds of file systems, if they differ from the kernel's names.
_KINDS = {"nfs4": "nfs", "cifs": "smb", "smb3": "smb"}
# These may leave a process's reads uncounted.
_NETWORK = ("nfs", "lustre", "gpfs", "beegfs", "ceph", "smb", "9p", "fuse")
# Places in a file. Pages mapped by a process stay, so several are tried.
_PLACES = (0.99, 0.66, 0.33, 0)
_SPEED_BYTES = 64 << 20
_SPEED_S = 0.25


def cache_bytes() -> float | None:
    """Returns the bytes that this process's cgroups and the machine leave for
    the page cache."""
    try:
        return float(_memory.room_bytes())
    except (OSError, ValueError, IndexError):
        return None


def filesystem(path: str) -> str:
    """Returns the type of a file's file system; "" if unknown."""
    try:
        with open("/proc/self/mountinfo") as file:
            lines = file.read().splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)
    best, kind = "", ""
    for line in lines:
        head, _, tail = line.partition(" - ")
        point = head.split()[4].encode().decode("unicode_escape")
        inside = point == "/" or (real + "/").startswith(point + "/")
        if inside and len(point) >= len(best):  # the last mount is on top
            best, kind = point, tail.split()[0]
    kind = kind.split(".")[0]  # e.g. fuse.sshfs
    return _KINDS.get(kind, kind)


def why_not_cold(path: str) -> str:
    """Returns "" if a dropped file is read from storage again, else the
    reason."""
    kind = filesystem(path)
    if kind in _IN_MEMORY:
        return f"the data is in memory ({kind})"
    if kind in _NETWORK:
        return ""
    try:
        if any(_reads_again(path, share) for share in _PLACES):
            return ""
    except OSError as error:
        return f"cannot try it with {path}: {error.strerror}"
    return (
        f"{kind or 'the file system'} keeps files in the page cache, or does "
        "not count what is read"
    )


def _reads_again(path: str, share: float) -> bool:
    """Returns whether a byte at this place of a dropped file comes from
    storage."""
    with open(path, "rb", buffering=0) as file:
        place = int(os.fstat(file.fileno()).st_size * share)
        os.pread(file.fileno(), 1, place)
        drop(path)
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_inblock
        os.pread(file.fileno(), 1, place)
        after = resource.getrusage(resource.RUSAGE_THREAD).ru_inblock
    return after > before


def memory_bytes_per_s(paths: list[str]) -> float | None:
    """Returns the rate at which one thread reads files from the page cache.
    Reads for 0.25 s, then reads the same bytes once more. Returns None without
    data."""
    total, _ = _read(paths, _SPEED_BYTES)
    total, seconds = _read(paths, total)
    return total / seconds if total > 0 else None


def _read(paths: list[str], most_bytes: int) -> tuple[int, float]:
    """Returns bytes and seconds. Reading ends at the first bound reached."""
    buffer = memoryview(bytearray(1 << 20))
    begin_ns = time.monotonic_ns()
    total, seconds = 0, 0.0
    for path in paths:
        if total >= most_bytes or seconds >= _SPEED_S:
            break
        try:
            with open(path, "rb", buffering=0) as file:
                while size := file.readinto(buffer[: most_bytes - total]):
                    total += size
                    seconds = (time.monotonic_ns() - begin_ns) * 1e-9
                    if seconds >= _SPEED_S:
                        break
        except OSError:
            continue
    return total, seconds

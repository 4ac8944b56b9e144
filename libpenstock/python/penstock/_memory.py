"""Determines the free memory of this process's cgroups and the machine."""

import os
from collections.abc import Iterator
from pathlib import Path

# Files of one memory cgroup, and the key of reclaimable page cache.
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")


def room_bytes(proc: Path = Path("/proc")) -> int:
    """Returns the usable bytes: the minimum over the machine and all levels of
    the process's memory cgroup (v1 or v2). Reclaimable page cache counts as
    free."""
    rooms = [_machine_room(proc)]
    for folder, files in _memory_groups(proc):
        room = _group_room(folder, files)
        if room is not None:
            rooms.append(room)
    return max(0, min(rooms))


def process_bytes(pid: int, proc: Path = Path("/proc")) -> int:
    """Returns a process's memory: its private part and its share of shared
    memory. Returns 0 if the process has ended."""
    try:
        lines = (proc / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return _kibibytes(lines, "Pss:")


def _machine_room(proc: Path) -> int:
    lines = (proc / "meminfo").read_text().splitlines()
    return _kibibytes(lines, "MemAvailable:")


def _kibibytes(lines: list[str], key: str) -> int:
    for line in lines:
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return 0


def _memory_groups(proc: Path) -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yields this process's cgroup and its ancestors, as far as they are
    mounted here."""
    paths = _group_paths(proc)
    for line in (proc / "self/mountinfo").read_text().splitlines():
        head, _, tail = line.partition(" - ")
        root, mount_point = head.split()[3:5]
        kind, _, options = tail.split()[:3]
        if kind == "cgroup" and "memory" in options.split(","):
            path, files = paths.get("memory"), _V1
        elif kind == "cgroup2":
            path, files = paths.get(""), _V2
        else:
            continue
        if path is None:
            continue
        inside = os.path.relpath(path, root)
        if inside.startswith(".."):  # a namespace hides it; its root is visible
            inside = "."
        folder = Path(mount_point, inside)
        while folder.is_relative_to(mount_point):
            yield folder, files
            folder = folder.parent


def _group_paths(proc: Path) -> dict[str, str]:
    """Returns controller (v2: "") -> path, from /proc/self/cgroup."""
    paths = {}
    for line in (proc / "self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def _group_room(folder: Path, files: tuple[str, str, str]) -> int | None:
    """Returns None if the group has no limit or is invisible."""
    limit_file, usage_file, cache_key = files
    try:
        limit = (folder / limit_file).read_text().strip()
        if limit == "max":
            return None
        usage = int((folder / usage_file).read_text())
        cache = _stat_value((folder / "memory.stat").read_text(), cache_key)
        return int(limit) - usage + cache
    except (OSError, ValueError):
        return None


def _stat_value(text: str, key: str) -> int:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    return 0

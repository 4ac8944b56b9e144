"""Finds the files that a dataset reads, and drops them from the page cache."""

import bisect
import ctypes
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from penstock._shared import SharedWords

# Files of programs and of the machine, and files without page cache.
_CODE = (".py", ".pyc", ".so", ".pth", ".egg-link")
_PACKAGES = ("/site-packages/", "/dist-packages/", ".so.")
_NO_DATA = ("/proc/", "/sys/", "/dev/", "/etc/")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_LARGE_BYTES = 65536
_MAX_SEEN = 100_000
_NOTE_WORDS = 2048  # of 8 bytes, for each worker
_MADV_DONTNEED = 4


def is_data(path: str) -> bool:
    return not (
        path.startswith(_NO_DATA)
        or path.endswith(_CODE)
        or any(part in path for part in _PACKAGES)
    )


def drop(path: str) -> int:
    """Drops a regular file from the page cache, except mapped pages and pages
    not written back. Returns the file's size, or 0 for other files."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return 0
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return 0
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return status.st_size
    except OSError:
        return 0
    finally:
        os.close(fd)


def held_files(pid: int | str = "self") -> set[str]:
    """Returns the large data files that a process has mapped or open for
    reading."""
    paths = {path for _, _, path in _shared_mappings(pid)}
    try:
        fds = [int(name) for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return set()
    # The first three belong to the launcher: a log, or a list of jobs.
    paths.update(_opened_for_reading(pid, fd) for fd in fds if fd > 2)
    return {path for path in paths if _is_large(path)}


def drop_held() -> None:
    """Drops this process's open files from the page cache. Shared file mappings
    release their pages first, and read them from the file again."""
    libc = ctypes.CDLL(None, use_errno=True)
    for begin, end, path in _shared_mappings("self"):
        if _is_large(path):
            start = ctypes.c_void_p(begin)
            length = ctypes.c_size_t(end - begin)
            libc.madvise(start, length, _MADV_DONTNEED)
    for path in held_files():
        drop(path)


def _opened_for_reading(pid: int | str, fd: int) -> str:
    """Returns the name of a file open for reading, or ""."""
    try:
        with open(f"/proc/{pid}/fdinfo/{fd}") as info:
            flags = dict(line.split(":", 1) for line in info)["flags"]
        if int(flags, 8) & os.O_ACCMODE != os.O_RDONLY:
            return ""
        return os.readlink(f"/proc/{pid}/fd/{fd}")
    except (OSError, ValueError, KeyError):  # closed in the meantime
        return ""


def _is_large(path: str) -> bool:
    if not path.startswith("/") or not is_data(path):
        return False
    try:
        status = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size >= _LARGE_BYTES


def _shared_mappings(pid: int | str) -> Iterator[tuple[int, int, str]]:
    try:
        with open(f"/proc/{pid}/maps") as maps:
            lines = maps.read().splitlines()
    except OSError:
        return
    for line in lines:
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[1][2:4] == "-s":
            begin, end = (int(part, 16) for part in fields[0].split("-"))
            yield begin, end, fields[5]


class Notes:
    """Names of files that workers have opened, for their trainer. Unpickled
    copies share the same notes."""

    def __init__(self, workers: int):
        self._shared = SharedWords(max(1, workers), _NOTE_WORDS)
        self._row = 0

    def enter_worker(self, row: int) -> None:
        self._row = row

    def add(self, path: str) -> None:
        """Adds a name. A name is discarded if the worker's page is full."""
        data = os.fsencode(path) + b"\n"
        first = self._row * _NOTE_WORDS
        used = self._shared.words[first]
        begin = (first + 1) * 8 + used
        if b"\n" in data[:-1] or used + len(data) > (_NOTE_WORDS - 1) * 8:
            return
        self._shared.memory[begin : begin + len(data)] = data
        self._shared.words[first] = used + len(data)

    def paths(self) -> list[str]:
        found = []
        for first in range(0, len(self._shared.words), _NOTE_WORDS):
            begin = (first + 1) * 8
            end = begin + self._shared.words[first]
            text = os.fsdecode(self._shared.memory[begin:end])
            found += text.split("\n")[:-1]
        return list(dict.fromkeys(found))


class Watcher:
    """Observes the files that this process opens through Python during sample
    loading. One instance per process. drops: whether each file is dropped
    before it is opened, once per sample."""

    def __init__(self):
        self._seen: set[str] = set()
        self._notes: Notes | None = None  # of the current sample
        self._drops = False
        self._dropped: set[str] = set()
        self._own = threading.local()
        self._installed = False

    def begin(self, notes: Notes, drops: bool) -> None:
        """Begins the loading of a sample."""
        if not self._installed:  # forked children inherit the hook
            sys.addaudithook(self._on_event)
            self._installed = True
        self._dropped.clear()
        self._drops = drops
        self._notes = notes

    def end(self) -> None:
        self._notes = None

    def drop(self, path: str) -> None:
        """Handles a file as if the sample had opened it."""
        self._on_event("open", (path, None, os.O_RDONLY))

    def _on_event(self, event: str, arguments: tuple) -> None:
        notes = self._notes
        if event != "open" or notes is None:
            return
        if getattr(self._own, "busy", False):  # opened by the watcher itself
            return
        self._own.busy = True
        try:
            self._opened(arguments, notes)
        except Exception:  # an exception would abort the user's open()
            pass
        finally:
            self._own.busy = False

    def _opened(self, arguments: tuple, notes: Notes) -> None:
        name, _, flags = arguments
        if isinstance(name, int) or flags & _WRITES:
            return
        path = os.path.abspath(os.fsdecode(name))
        if path in self._dropped or not is_data(path):
            return
        if not os.path.isfile(path):
            return
        self._dropped.add(path)
        if self._drops:
            drop(path)
        if path not in self._seen and len(self._seen) < _MAX_SEEN:
            self._seen.add(path)
            notes.add(path)


watcher = Watcher()


def sample_files(dataset: Any) -> Callable[[Any], str | None] | None:
    """Returns a function from a sample's index to its file. Returns None if the
    dataset keeps no list of files, unlike torchvision's datasets."""
    parts = getattr(dataset, "datasets", None)
    ends = getattr(dataset, "cumulative_sizes", None)
    if isinstance(parts, list) and isinstance(ends, list):
        return _of_parts([sample_files(part) for part in parts], ends)
    inner, indices = (getattr(dataset, n, None) for n in ("dataset", "indices"))
    if inner is not None and indices is not None:
        find = sample_files(inner)
        return find and (lambda index: find(indices[index]))
    try:
        count = len(dataset)
        attributes = list(vars(dataset).values())
    except TypeError:
        return None
    root = getattr(dataset, "root", "")
    for listed in attributes:
        if _lists_files(listed, count, root):
            return lambda index, listed=listed: _path(listed[index], root)
    return None


def _of_parts(
    finders: list, ends: list[int]
) -> Callable[[int], str | None] | None:
    if not any(finders):
        return None

    def find(index: int) -> str | None:
        part = bisect.bisect_right(ends, index)
        finder = finders[part]
        return finder and finder(index - (ends[part - 1] if part else 0))

    return find


def _lists_files(listed: Any, count: int, root: Any) -> bool:
    if not isinstance(listed, (list, tuple)):
        if type(listed).__name__ != "ndarray":
            return False
    if len(listed) != count or count == 0:
        return False
    paths = [_path(listed[index], root) for index in (0, count - 1)]
    return all(path is not None and os.path.isfile(path) for path in paths)


def _path(entry: Any, root: Any) -> str | None:
    """Returns the path of an entry that is a path or begins with one."""
    if isinstance(entry, (list, tuple)) and entry:
        entry = entry[0]
    if not isinstance(entry, (str, os.PathLike)):
        return None
    path = os.fspath(entry)
    if not isinstance(path, str):
        return None
    if isinstance(root, (str, os.PathLike)) and not os.path.isfile(path):
        path = os.path.join(os.fspath(root), path)
    return path

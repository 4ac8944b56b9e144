"""The two shared pages and the messages (docs/protocol.md)."""

import fcntl
import mmap
import os
import struct
from typing import NamedTuple

PAGE_BYTES = 4096
PAGE_VERSION = 1
PROGRESS_MAGIC = 0x50504E50
HINT_MAGIC = 0x50484E50
MAX_THREADS = 4096
MAX_COUNTER = 2**64 - 1
MAX_STATE = 2**32 - 1

MESSAGE_MAGIC = 0x54534E50
PROTOCOL_VERSION = 1
HELLO = 5
THREAD = 6
LIMIT = 10
REPLY = 100
_HEADER = struct.Struct("=IHHII")
_REPLY = struct.Struct("=IHHIIiI120s")
REPLY_BYTES = _REPLY.size

# Fields of the progress page after magic and version, in order, by kind, as in
# common/page.h. A state has 4 bytes, any other field 8.
PROGRESS_FIELDS = (
    ("moment", "updated_ns"),
    ("moment", "started_ns"),
    ("counter", "samples"),
    ("counter", "steps"),
    ("counter", "wait_ns"),
    ("counter", "bytes"),
    ("counter", "fetch_ns"),
    ("counter", "prep_ns"),
    ("counter", "prepared"),
    ("level", "replaying"),
    ("state", "loader_threads"),
    ("state", "follows_hint"),
    ("counter", "exchange_ns"),
    ("counter", "cached"),
    ("counter", "cached_bytes"),
    ("level", "cache_samples"),
    ("level", "data_samples"),
    ("counter", "peer"),
    ("counter", "peer_bytes"),
    ("level", "share"),
    ("counter", "delay_ns"),
    ("level", "compute_threads"),
)

# Counters of a loader's processes per batch, in the order of their sums.
LOADED = ("fetch_ns", "prep_ns", "bytes", "prepared")


def _offsets() -> dict[str, int]:
    """Returns field name -> offset in the page, in bytes."""
    offsets = {}
    end = 8
    for kind, name in PROGRESS_FIELDS:
        offsets[name] = end
        end += 4 if kind == "state" else 8
    return offsets


def _names(*kinds: str) -> list[str]:
    return [name for kind, name in PROGRESS_FIELDS if kind in kinds]


_OFFSETS = _offsets()
UPDATED_NS = _OFFSETS["updated_ns"] // 8
STARTED_NS = _OFFSETS["started_ns"] // 8
COUNTER_WORDS = {
    name: _OFFSETS[name] // 8 for name in _names("counter", "level")
}
STATE_HALVES = {name: _OFFSETS[name] // 4 for name in _names("state")}
REPORTED = (*COUNTER_WORDS, *STATE_HALVES)
GROWING = _names("counter")
_SEQLOCK_TRIES = 64


class Hint(NamedTuple):
    """The job's grant."""

    grant_version: int  # grows with every change of the grant
    granted_millicores: int  # home and away CPUs, in thousandths
    rate_bytes_per_s: int  # from storage; 0: no limit
    loader_threads: int  # threads that can run at once; 1 to 4096
    kernel_limited: bool  # whether the kernel enforces the rate


class PageError(Exception):
    """The received data is not a page of penstockd."""


def message(kind: int, payload: bytes) -> bytes:
    size = _HEADER.size + len(payload)
    header = _HEADER.pack(MESSAGE_MAGIC, PROTOCOL_VERSION, kind, size, 0)
    return header + payload


def hello_message(unasked: bool) -> bytes:
    """unasked: the program itself does not use penstock."""
    return message(HELLO, struct.pack("=II", PAGE_VERSION, unasked))


def thread_message(tid: int, is_loader: bool) -> bytes:
    return message(THREAD, struct.pack("=iI", tid, is_loader))


def limit_message(millicores: int, bytes_per_s: int, ends: int) -> bytes:
    return message(LIMIT, struct.pack("=IIQ", millicores, ends, bytes_per_s))


def reply_status(data: bytes) -> tuple[int, str]:
    """Returns 0, or an errno value and the reason. Raises PageError for other
    data."""
    if len(data) != _REPLY.size:
        raise PageError("not a reply")
    magic, version, kind, size, _, status, _, text = _REPLY.unpack(data)
    expected = (MESSAGE_MAGIC, PROTOCOL_VERSION, REPLY, _REPLY.size)
    if (magic, version, kind, size) != expected:
        raise PageError("not a reply")
    return status, text.split(b"\0", 1)[0].decode(errors="replace")


def _map(fd: int, protection: int) -> mmap.mmap:
    """Maps a page, after checking that its size is sealed. A truncated page
    would raise SIGBUS."""
    needed = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
    if os.fstat(fd).st_size != PAGE_BYTES:
        raise PageError("wrong size")
    if fcntl.fcntl(fd, fcntl.F_GET_SEALS) & needed != needed:
        raise PageError("not sealed")
    return mmap.mmap(fd, PAGE_BYTES, mmap.MAP_SHARED, protection)


class ProgressPage:
    """Written by this process.

    Words go through a memoryview, whose item assignment is a single store. The
    page may have belonged to an ended process of the task, and hold its
    counters."""

    def __init__(self, fd: int):
        self._memory = _map(fd, mmap.PROT_READ | mmap.PROT_WRITE)
        magic, version = struct.unpack_from("=II", self._memory)
        if magic and (magic, version) != (PROGRESS_MAGIC, PAGE_VERSION):
            raise PageError("not a progress page")
        self.words = memoryview(self._memory).cast("Q")
        self._halves = memoryview(self._memory).cast("I")

    def mark_valid(self) -> None:
        """Call after the first counters are written."""
        struct.pack_into("=II", self._memory, 0, PROGRESS_MAGIC, PAGE_VERSION)

    def get(self, word: int) -> int:
        return self.words[word]

    def set(self, word: int, value: int) -> None:
        self.words[word] = value

    def set_half(self, half: int, value: int) -> None:
        self._halves[half] = value


class HintPage:
    """Written by penstockd. Every field is checked when it is read."""

    def __init__(self, fd: int):
        page = memoryview(_map(fd, mmap.PROT_READ))
        self._halves = page.cast("I")
        self._words = page.cast("Q")
        if tuple(self._halves[:2]) != (HINT_MAGIC, PAGE_VERSION):
            raise PageError("not a hint page")

    def read(self) -> Hint | None:
        for _ in range(_SEQLOCK_TRIES):
            sequence = self._halves[2]
            threads = self._halves[3]
            version, millicores, rate, limited = self._words[2:6]
            if sequence & 1 or self._halves[2] != sequence:
                continue
            if not 1 <= threads <= MAX_THREADS:
                return None
            return Hint(version, millicores, rate, threads, limited != 0)
        return None  # penstockd ended during a write

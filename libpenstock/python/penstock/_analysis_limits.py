"""Holds this rank to less than it has: penstockd's quota, else fewer CPUs."""

import os
import socket
import threading
from typing import NamedTuple

from penstock import _pages
from penstock._client import socket_path

_ANSWER_S = 2
_RENEW_S = 10  # it lapses after 30
# Where this rank is among those of its machine; the last is a guess.
_LOCAL_RANKS = (
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "SLURM_LOCALID",
    "RANK",
)


class Held(NamedTuple):
    """By what the limits are kept; "" where they are not, with why."""

    cores: str = ""
    bytes_per_s: str = ""
    why: str = ""


class Limits:
    """Limits of this process and its loader's workers. penstockd's are
    renewed by a thread; all are lifted by release()."""

    def __init__(self):
        # Held while one is asked for: an older one is not to come after it.
        self._lock = threading.Lock()
        self._wanted: bytes | None = None
        self._ended = threading.Event()
        self._affinity = _Affinity()
        self._thread: threading.Thread | None = None

    def apply(
        self, cores: float | None, bytes_per_s: float | None, pids: list[int]
    ) -> Held:
        """Replaces the limits before it; None: no limit."""
        self._affinity.restore(pids)
        refused = self._ask(round((cores or 0) * 1000), round(bytes_per_s or 0))
        if not refused:
            return Held(
                "quota" if cores else "", "kernel" if bytes_per_s else ""
            )
        if cores is None and bytes_per_s is None:
            return Held()
        # It shall neither lend nor borrow, whatever else cannot be.
        self._ask(0, 0)
        if cores is None:
            return Held(why=refused)
        failed = self._affinity.narrow(cores, pids)
        if failed:
            return Held(why=f"{refused}: {failed}")
        return Held("affinity", "", refused)

    def release(self) -> None:
        """For good."""
        self._affinity.restore([])
        self._ended.set()
        with self._lock:
            self._wanted = None
        _exchange(_pages.limit_message(0, 0, 1))

    def _ask(self, millicores: int, rate: int) -> str:
        """"" or why not."""
        message = _pages.limit_message(millicores, rate, 0)
        with self._lock:
            refused = _exchange(message)
            self._wanted = None if refused else message
        if self._wanted and not self._thread:
            self._thread = threading.Thread(target=self._renew, daemon=True)
            self._thread.start()
        return refused

    def _renew(self) -> None:
        while not self._ended.wait(_RENEW_S):
            with self._lock:
                if self._wanted:
                    _exchange(self._wanted)


def _exchange(message: bytes) -> str:
    """"" or why not."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
            channel.settimeout(_ANSWER_S)
            channel.connect(socket_path())
            channel.send(message, socket.MSG_NOSIGNAL)
            data = channel.recv(_pages.REPLY_BYTES)
        status, text = _pages.reply_status(data)
    except (OSError, _pages.PageError):
        return f"no penstockd answers at {socket_path()}"
    return (text or os.strerror(status)) if status else ""


class _Affinity:
    """Whole CPUs of those that the threads may run on, by masks."""

    def __init__(self):
        self._own = os.sched_getaffinity(0)
        self._before: dict[int, set[int]] = {}

    def narrow(self, cores: float, pids: list[int]) -> str:
        """"" or why not."""
        if cores != int(cores):
            return "whole CPUs only"
        count, cpus = int(cores), sorted(self._own)
        if count > len(cpus):
            return f"{len(cpus)} CPUs only"
        first = _local_rank() * count % len(cpus)  # ranks side by side
        chosen = set((cpus + cpus)[first : first + count])
        for tid in _threads(pids):
            try:
                mask = os.sched_getaffinity(tid)
                os.sched_setaffinity(tid, chosen)
                self._before.setdefault(tid, mask)
            except OSError:
                continue  # it ended
        return ""

    def restore(self, pids: list[int]) -> None:
        """Threads made meanwhile get the process's own mask."""
        if not self._before:
            return
        for tid in _threads(pids):
            try:
                os.sched_setaffinity(tid, self._before.get(tid, self._own))
            except OSError:
                continue
        self._before.clear()


def _local_rank() -> int:
    for name in _LOCAL_RANKS:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return 0


def _threads(pids: list[int]) -> list[int]:
    found = []
    for pid in (os.getpid(), *pids):
        try:
            found += [int(name) for name in os.listdir(f"/proc/{pid}/task")]
        except OSError:
            continue
    return found

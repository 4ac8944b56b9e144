"""Limits this rank's resources, by penstockd's quota or by fewer CPUs."""

import os
import socket
import threading
from typing import NamedTuple

from penstock import _pages
from penstock._client import socket_path

_ANSWER_S = 2
_RENEW_S = 10  # a limit lapses after 30 s
# Variables with the rank's number on its machine; the last is a guess.
_LOCAL_RANKS = (
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "SLURM_LOCALID",
    "RANK",
)


class Held(NamedTuple):
    """The mechanism that enforces each limit; "" if none does, with the
    reason."""

    cores: str = ""
    bytes_per_s: str = ""
    why: str = ""


class Limits:
    """Limits of this process and its loader's workers.

    A thread renews penstockd's limits. release() lifts all limits."""

    def __init__(self):
        # Held during a request, so that an older request cannot follow a newer
        # one.
        self._lock = threading.Lock()
        self._wanted: bytes | None = None
        self._ended = threading.Event()
        self._affinity = _Affinity()
        self._thread: threading.Thread | None = None

    def apply(
        self, cores: float | None, bytes_per_s: float | None, pids: list[int]
    ) -> Held:
        """Replaces the previous limits. None: no limit."""
        self._affinity.restore(pids)
        refused = self._ask(round((cores or 0) * 1000), round(bytes_per_s or 0))
        if not refused:
            return Held(
                "quota" if cores else "", "kernel" if bytes_per_s else ""
            )
        if cores is None and bytes_per_s is None:
            return Held()
        # Prevents lending and borrowing, even if the limits failed.
        self._ask(0, 0)
        if cores is None:
            return Held(why=refused)
        failed = self._affinity.narrow(cores, pids)
        if failed:
            return Held(why=f"{refused}: {failed}")
        return Held("affinity", "", refused)

    def release(self) -> None:
        """Lifts all limits permanently."""
        self._affinity.restore([])
        self._ended.set()
        with self._lock:
            self._wanted = None
        _exchange(_pages.limit_message(0, 0, 1))

    def _ask(self, millicores: int, rate: int) -> str:
        """Returns "" or the reason for a refusal."""
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
    """Returns "" or the reason for a refusal."""
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
    """Restricts the threads to whole CPUs of their affinity masks."""

    def __init__(self):
        self._own = os.sched_getaffinity(0)
        self._before: dict[int, set[int]] = {}

    def narrow(self, cores: float, pids: list[int]) -> str:
        """Returns "" or the reason for a failure."""
        if cores != int(cores):
            return "whole CPUs only"
        count, cpus = int(cores), sorted(self._own)
        if count > len(cpus):
            return f"{len(cpus)} CPUs only"
        first = _local_rank() * count % len(cpus)  # places ranks side by side
        chosen = set((cpus + cpus)[first : first + count])
        for tid in _threads(pids):
            try:
                mask = os.sched_getaffinity(tid)
                os.sched_setaffinity(tid, chosen)
                self._before.setdefault(tid, mask)
            except OSError:
                continue  # the thread ended
        return ""

    def restore(self, pids: list[int]) -> None:
        """Restores the masks. New threads get the process's own mask."""
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

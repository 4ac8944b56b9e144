"""The connection to penstockd. It blocks only while opening, for at most 100
ms."""

import array
import os
import select
import socket
import struct
import threading
import time
import weakref
from collections import deque

from penstock import _pages
from penstock._pages import Hint

_DEFAULT_SOCKET = "/run/penstock/penstockd.sock"
_CHECK_PERIOD_NS = 1_000_000_000
_OPEN_BUDGET_MS = 100
_MAX_DRAINED = 64
_WORDS = _pages.COUNTER_WORDS
_SAMPLES, _STEPS = _WORDS["samples"], _WORDS["steps"]
_WAIT, _DELAY = _WORDS["wait_ns"], _WORDS["delay_ns"]
_PREPARED = _WORDS["prepared"]
# Counters of one moment, updated_ns, and all others.
_OF_BATCH = (_SAMPLES, _STEPS, _WAIT, _WORDS["exchange_ns"], _DELAY)
_OTHERS = tuple(word for word in _WORDS.values() if word not in _OF_BATCH)
_OF_SPLIT = (*_OF_BATCH, *(_WORDS[name] for name in _pages.LOADED))
_ALL = (*_OF_BATCH, *_OTHERS)
_MAX_FDS = 8
_OVERFLOW_UID = 65534  # root, as seen from a container's user namespace


def socket_path() -> str:
    return os.environ.get("PENSTOCK_SOCKET") or _DEFAULT_SOCKET


class Client:
    """Counters, loader threads and the grant of one process.

    Any thread may call any method. Counters belong to one thread. After a
    restart of penstockd, threads and counters are transferred within two
    seconds. In a forked child the parent's client is a no-op.

    Each process has its own pages, at most 64 per task. A process that connects
    after another process of its task has ended takes over that process's pages,
    and continues its counters.
    """

    def __init__(self, path: str | None = None, asked: bool = True):
        """Connects to path, else to $PENSTOCK_SOCKET, else to the default.

        asked: the program uses penstock, and is not only measured by the hook.
        A site may refuse the connection otherwise."""
        self._path = path or socket_path()
        self.asked = asked
        self._lock = threading.Lock()
        self._ended: deque[int] = deque()  # threads to unregister
        self._socket: socket.socket | None = None
        self._greeted = False
        self._alive = True
        self._threads: dict[int, bool] = {}  # tid -> penstockd knows it
        self._hint: _pages.HintPage | None = None
        self._progress: _pages.ProgressPage | None = None
        self._started_ns = time.monotonic_ns()
        self._updated_ns = 0
        # Counters by their word in the page, and what earlier processes of the
        # task had counted, which is part of them: they must never decrease.
        self._counters = [0] * (max(_ALL) + 1)
        self._base = [0] * len(self._counters)
        self._states = dict.fromkeys(_pages.STATE_HALVES, 0)
        self._own_split = False  # report() got the counters that watch() adds
        self._has_split = False  # add_batch() got a split
        self._batches = (0, 0)  # samples and steps at updated_ns
        # A batch's counters as the page has them, while a report is ahead.
        self._held: dict[int, int] = {}
        self._skipped = False  # a report was not written
        self._next_check_ns = time.monotonic_ns() + _CHECK_PERIOD_NS
        _clients.add(self)
        self._connect_within_budget()

    def connected(self) -> bool:
        self._check()
        return self._greeted

    def report(self, **counters: int) -> None:
        """Publishes absolute counters; see penstock.report()."""
        unknown = counters.keys() - set(_pages.REPORTED)
        if unknown:
            raise TypeError(
                f"report() got {sorted(unknown)}; allowed: "
                + ", ".join(_pages.REPORTED)
            )
        self._hold()
        for name, value in counters.items():
            if name in _WORDS:
                word = _WORDS[name]
                self._counters[word] = self._base[word] + value
            else:
                self._states[name] = value
        self._own_split |= not counters.keys().isdisjoint(_pages.LOADED)
        self._publish(self._due())

    def add_batch(
        self,
        samples: int,
        wait_ns: int,
        split: dict[str, int] | None,
        delay_ns: int = 0,
        batches: int = 1,
    ) -> None:
        """Counts batches, usually one, that the trainer has waited for.

        delay_ns: run delay since the last batch, except during the wait. split:
        the loader's times since the last batch, by counter name; None if
        unknown. It is ignored once the job reports such counters itself."""
        counters, words = self._counters, _OF_BATCH
        if self._own_split:
            split = None
        elif split is not None:
            self._has_split = True
            words = _OF_SPLIT
            for name, amount in split.items():
                counters[_WORDS[name]] += amount
        elif self._has_split:
            # All watched loaders count or none: these samples count too.
            words = _OF_SPLIT
            counters[_PREPARED] += samples
        is_batch = samples or batches
        if not is_batch:
            self._hold()
        counters[_SAMPLES] += samples
        counters[_STEPS] += batches
        counters[_WAIT] += wait_ns
        counters[_DELAY] += delay_ns
        self._publish(words if is_batch else self._due())

    def add(self, **differences: int) -> None:
        """Adds to counters and publishes them."""
        self._hold()
        for name, difference in differences.items():
            self._counters[_WORDS[name]] += difference
        self._publish(self._due())

    def hint(self) -> Hint | None:
        self._check()
        page = self._hint
        return page.read() if page else None

    def register(self, tid: int) -> None:
        """Registers a thread or process of this job as a loader. Unregister it
        before it ends."""
        with self._lock:
            self._forget_ended()
            if self._alive and len(self._threads) < _pages.MAX_THREADS:
                self._threads[tid] = self._announce(tid, True)

    def unregister(self, tid: int) -> None:
        """Never waits: the garbage collector may call it while its thread holds
        the lock. The thread is then unregistered with the next report."""
        self._ended.append(tid)
        if self._lock.acquire(False):
            try:
                self._forget_ended()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Ends the connection permanently."""
        with self._lock:
            self._disconnect()
            self._alive = False

    def _forget_ended(self) -> None:
        while self._ended:
            tid = self._ended.popleft()
            if self._threads.pop(tid, False):
                self._announce(tid, False)

    def _hold(self) -> None:
        """Call before a change that may be none of a batch."""
        if not self._held:
            self._held = {word: self._counters[word] for word in _OF_BATCH}

    def _due(self) -> tuple:
        """Returns the words to write after a report. The counters of a batch
        belong to one moment: a wait in progress appears with the batch that
        ends it. The first report marks the start of watching."""
        counters, (samples, steps) = self._counters, self._batches
        is_batch = (
            counters[_SAMPLES] > samples
            or counters[_STEPS] > steps
            or self._updated_ns == 0
        )
        return _ALL if is_batch else _OTHERS

    def _publish(self, words: tuple) -> None:
        """Publishes these counters, unless another thread holds the lock. That
        lasts microseconds, once a second. Counters are absolute, so the next
        report makes up for a skipped one."""
        if not self._lock.acquire(False):
            self._skipped = True
            return
        try:
            now_ns = time.monotonic_ns()
            if now_ns >= self._next_check_ns:
                self._step_when_due(now_ns)
            if self._skipped:
                self._skipped = False
                words = self._due() if words is _OTHERS else _ALL
            self._write(words, now_ns)
            if self._ended:
                self._forget_ended()
        finally:
            self._lock.release()

    def _write(self, words: tuple, now_ns: int) -> None:
        counters = self._counters
        if words is not _OTHERS:
            self._updated_ns = now_ns
            self._batches = counters[_SAMPLES], counters[_STEPS]
            self._held = {}
        page = self._progress
        if page is None:
            return
        memory = page.words
        for word in words:
            memory[word] = counters[word] & _pages.MAX_COUNTER
        if words is _ALL or words is _OTHERS:
            self._write_states(page)
        memory[_pages.UPDATED_NS] = self._updated_ns

    def _write_states(self, page: _pages.ProgressPage) -> None:
        threads = self._states["loader_threads"] & _pages.MAX_STATE
        page.set_half(_pages.STATE_HALVES["loader_threads"], threads)
        follows = bool(self._states["follows_hint"])
        page.set_half(_pages.STATE_HALVES["follows_hint"], follows)

    def _step_when_due(self, now_ns: int) -> None:
        if now_ns >= self._next_check_ns:
            self._next_check_ns = now_ns + _CHECK_PERIOD_NS
            self._step()

    def _check(self) -> None:
        """Maintains the connection once a second. Does nothing while another
        thread does so."""
        now_ns = time.monotonic_ns()
        if now_ns < self._next_check_ns or not self._lock.acquire(False):
            return
        try:
            self._step_when_due(now_ns)
        finally:
            self._lock.release()

    def _connect_within_budget(self) -> None:
        self._step()
        if self._socket and not self._greeted:
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            if poll.poll(_OPEN_BUDGET_MS):
                self._step()

    def _step(self) -> None:
        """Advances the connection by one step, without blocking. Any failure
        closes it."""
        if not self._alive:
            return
        try:
            if self._greeted:
                self._drain()
            if self._socket is None:
                self._start_greeting()
            if not self._greeted:
                self._finish_greeting()
            self._announce_all()
        except BlockingIOError:
            pass
        except (OSError, ValueError, _pages.PageError):
            self._disconnect()

    def _disconnect(self) -> None:
        if self._socket:
            self._socket.close()
        self._socket = None
        self._greeted = False
        self._progress = None
        self._hint = None
        self._threads = dict.fromkeys(self._threads, False)

    def _start_greeting(self) -> None:
        self._socket = socket.socket(
            socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK
        )
        try:
            self._socket.connect(self._path)
            self._check_peer()
            self._send(_pages.hello_message(not self.asked))
        except BlockingIOError as error:  # full queue: as if absent
            raise ConnectionRefusedError from error

    def _check_peer(self) -> None:
        peer = self._socket.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII")
        )
        uid = struct.unpack("iII", peer)[1]
        if uid not in (0, _OVERFLOW_UID, os.geteuid()):
            raise PermissionError("the socket is not penstockd's")

    def _finish_greeting(self) -> None:
        data, fds, truncated = self._receive_with_fds()
        try:
            status, _ = _pages.reply_status(data)
            if truncated or len(fds) != 2 or status != 0:
                raise _pages.PageError("not a reply to HELLO")
            progress = _pages.ProgressPage(fds[0])
            hint = _pages.HintPage(fds[1])
        finally:
            for fd in fds:
                os.close(fd)
        self._carry_over(progress)
        for word in _OF_BATCH:
            progress.set(word, self._shown(word) & _pages.MAX_COUNTER)
        self._progress = progress
        self._write(_OTHERS, 0)
        progress.mark_valid()
        self._hint = hint
        self._greeted = True

    def _shown(self, word: int) -> int:
        return self._held.get(word, self._counters[word])

    def _carry_over(self, page: _pages.ProgressPage) -> None:
        """Adopts the part of the page's counters that exceeds ours. An earlier
        process of the task reported it."""
        for name in _pages.GROWING:
            word = _WORDS[name]
            more = page.get(word) - self._shown(word)
            if more > 0:
                self._counters[word] += more
                self._base[word] += more
                if word in self._held:
                    self._held[word] += more
        self._batches = self._shown(_SAMPLES), self._shown(_STEPS)
        if page.get(_pages.STARTED_NS):
            started_ns = page.get(_pages.STARTED_NS)
            self._started_ns = min(self._started_ns, started_ns)
        page.set(_pages.STARTED_NS, self._started_ns)
        self._updated_ns = max(self._updated_ns, page.get(_pages.UPDATED_NS))

    def _receive_with_fds(self) -> tuple[bytes, list[int], bool]:
        fds = array.array("i")
        data, controls, flags, _ = self._socket.recvmsg(
            _pages.REPLY_BYTES,
            socket.CMSG_SPACE(_MAX_FDS * fds.itemsize),
            socket.MSG_CMSG_CLOEXEC,
        )
        for level, kind, payload in controls:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                whole = len(payload) - len(payload) % fds.itemsize
                fds.frombytes(payload[:whole])
        bad = socket.MSG_TRUNC | socket.MSG_CTRUNC
        return data, fds.tolist(), bool(flags & bad)

    def _drain(self) -> None:
        """Discards the replies to THREAD messages. A refused thread is not
        moved."""
        for _ in range(_MAX_DRAINED):
            try:
                if not self._socket.recv(_pages.REPLY_BYTES):
                    raise ConnectionResetError
            except BlockingIOError:
                return

    def _send(self, message: bytes) -> None:
        self._socket.send(message, socket.MSG_NOSIGNAL)

    def _announce(self, tid: int, is_loader: bool) -> bool:
        if not self._greeted:
            return False
        try:
            self._send(_pages.thread_message(tid, is_loader))
        except OSError:  # full queue or no penstockd: the next check handles it
            return False
        return True

    def _announce_all(self) -> None:
        for tid, told in self._threads.items():
            if not told and self._announce(tid, True):
                self._threads[tid] = True

    def _abandon(self) -> None:
        """Detaches a forked child from the parent's pages and socket. Takes no
        lock, because another thread of the parent may have held it."""
        self._alive = False
        self._greeted = False
        self._hint = None
        self._progress = None
        self._lock = threading.Lock()
        if self._socket:
            self._socket.close()
            self._socket = None


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()
_default: Client | None = None


def default_client(asked: bool = True) -> Client:
    """Returns this process's client; creates it on first use. asked: see
    Client."""
    global _default
    if _default is None:
        _default = Client(asked=asked)
    _default.asked |= asked
    return _default


def _after_fork_in_child() -> None:
    global _default
    _default = None
    for client in list(_clients):
        client._abandon()


os.register_at_fork(after_in_child=_after_fork_in_child)

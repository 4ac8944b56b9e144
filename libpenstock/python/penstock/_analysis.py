"""Analysis mode, for jobs under penstock analyze, which sets PENSTOCK_ANALYZE.

The command chooses the training loop's data source. The rank reports its speed.
"""

import copy
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, MutableMapping
from typing import Any

from penstock._analysis_facts import facts_of
from penstock._analysis_feed import Feed, make_feed
from penstock._analysis_limits import Held, Limits
from penstock._analysis_storage import memory_bytes_per_s
from penstock._analysis_usage import Quiet, Usage
from penstock._analysis_wire import VARIABLE, Address, Cell, Lost, Wire
from penstock._batch import batch_samples

_TELL_NS = 100_000_000
_MAX_ENTRIES = 1000  # far below 64 KiB of JSON


class Analysis:
    """The analysis of this process, for the first loader that is iterated. A
    second iteration continues the analysis. It never ends by itself."""

    def __init__(self, address: Address, loader: Any):
        self.loader = loader
        self._address = address
        self._usage = Usage()
        self._limits = Limits()
        self._feed: Feed | None = None
        self._wire: Wire | None = None
        self._first: Any = None  # first batch
        self._cell: Cell | None = None
        self._held = Held()
        self._ready = False
        self._entries: list[tuple[int, int, int]] = []  # end, samples, wait
        self._told_ns = 0
        self._steps = 0
        self._batches_left: int | None = None  # until the hold; None: no hold
        self._said_held = False
        self._memory_rate: float | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._next_trained()
        except Lost as error:
            _say(f"the connection to penstock analyze is lost: {error}")
            self._limits.release()
            _leave(1)

    def _next_trained(self) -> Any:
        if self._feed is None:
            self._begin()
        while True:
            self._obey()
            begin_ns = time.monotonic_ns()
            batch, fresh = self._draw()
            end_ns = time.monotonic_ns()
            self._account(batch, fresh, end_ns, end_ns - begin_ns)
            if self._batches_left:
                self._batches_left -= 1
            if self._cell.train:
                self._steps += 1
                return batch

    def _begin(self) -> None:
        self._feed = make_feed(self.loader)
        try:
            self._first, _ = self._feed.draw()
        except StopIteration:
            self._greet()
            self._take(self._wire.wait())  # may contain the error
            raise
        self._greet()

    def _greet(self) -> None:
        """Connects and sends the hello. Connects only now, because starting
        workers takes longer than a connection may be silent."""
        facts = facts_of(self.loader, self._feed, self._first)
        try:
            self._wire = Wire(self._address)
        except OSError as error:
            raise Lost(str(error)) from error
        self._wire.send(hello=1, secret=self._address.secret, **facts)

    def _obey(self) -> None:
        """Processes the messages from penstock analyze. Waits while the rank is
        held, and until the first message."""
        while True:
            if self._batches_left == 0 and not self._said_held:
                self._tell()
                self._wire.send(held=self._steps)
                self._said_held = True
            waits = self._batches_left == 0 or self._cell is None
            message = self._wire.wait() if waits else self._wire.poll()
            if message is None:
                return
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        if "end" in message:
            self._limits.release()
            _leave(0)
        elif "hold" in message:
            self._batches_left, self._said_held = 0, False
        elif "advance" in message:
            self._batches_left, self._said_held = 1, False
        else:
            self._tell()
            self._batches_left = None
            self._start(Cell.of(message))

    def _start(self, cell: Cell) -> None:
        self._cell = cell
        if cell.data == "cold":
            self._feed.change(cold=True)
        elif cell.data != "replay":
            self._feed.change(cold=False, subset=cell.subset_samples)
        pids = self._feed.pids()
        self._held = self._limits.apply(cell.cores, cell.bytes_per_s, pids)
        self._ready = False
        self._fresh_batches = self._fresh_samples = 0
        self._quiet = Quiet(pids)
        self._entries = []

    def _draw(self) -> tuple[Any, bool]:
        if self._cell.data != "replay":
            return self._feed.draw()
        batch = self._first
        if isinstance(batch, (list, MutableMapping)):
            batch = copy.copy(batch)  # loops change parts of a batch
        return batch, True

    def _account(
        self, batch: Any, fresh: bool, end_ns: int, wait_ns: int
    ) -> None:
        samples = batch_samples(batch, self.loader)
        if self._ready:
            self._entries.append((end_ns, samples, wait_ns))
            full = len(self._entries) >= _MAX_ENTRIES
            if full or end_ns - self._told_ns >= _TELL_NS:
                self._tell()
        elif fresh:
            self._fresh_batches += 1
            self._fresh_samples += samples
            if self._is_in_its_state() and self._knows_memory():
                self._become_ready()

    def _is_in_its_state(self) -> bool:
        """Returns whether the pipeline has reached the cell's state.

        Earlier batches are gone, and the pipeline is full of new ones. Data
        that should be cached is cached."""
        if self._cell.data == "replay":
            return self._fresh_batches >= 2 and self._quiet.reached()
        if self._fresh_batches < self._feed.depth:
            return False
        is_subset = self._cell.data != "cold"
        return not is_subset or self._fresh_samples >= self._feed.pass_samples()

    def _knows_memory(self) -> bool:
        """Measures the read rate of the files once, in a memory cell without
        limits. Batches prepared during the measurement are not counted."""
        cell = self._cell
        is_limited = cell.cores is not None or cell.bytes_per_s is not None
        if cell.data != "memory" or is_limited or self._memory_rate is not None:
            return True
        self._memory_rate = memory_bytes_per_s(self._feed.notes.paths()) or 0.0
        self._fresh_batches = 0
        return False

    def _become_ready(self) -> None:
        self._ready = True
        self._told_ns = time.monotonic_ns()
        self._wire.send(
            cell=self._cell.cell, ready=True, limits=self._held._asdict()
        )

    def _tell(self) -> None:
        if not self._entries:
            return
        entries, self._entries = self._entries, []
        self._told_ns = entries[-1][0]
        end_ns, samples, wait_ns = zip(*entries)
        cpu_s, read, consumed = self._usage.read(self._feed.pids())
        self._wire.send(
            cell=self._cell.cell,
            end_ns=end_ns,
            samples=samples,
            wait_ns=wait_ns,
            cpu_s=cpu_s,
            read_bytes=read,
            consumed_bytes=consumed,
            memory_bytes_per_s=self._memory_rate or None,
        )


_analysis: Analysis | None = None
_failed = False


def analysis_of(loader: Any) -> Analysis | None:
    """Returns the analysis of the first loader that is requested. Returns None
    for other loaders, in workers, and if penstock analyze is unreachable."""
    global _analysis, _failed
    torch_data = sys.modules.get("torch.utils.data")
    in_worker = torch_data and torch_data.get_worker_info() is not None
    if _failed or in_worker:
        return None
    if _analysis is None:
        try:
            address = Address.of(os.environ[VARIABLE])
            Wire(address).close()  # checks that the address is reachable
        except (OSError, ValueError) as error:
            _failed = True
            _say(f"penstock analyze cannot be reached: {error}; not analysed")
            return None
        _analysis = Analysis(address, loader)
    return _analysis if _analysis.loader is loader else None


def _say(text: str) -> None:
    print(f"penstock: {text}", file=sys.stderr, flush=True)


def _leave(status: int) -> None:
    """Exits at once: a measured run must not save anything."""
    try:
        _flush()
        if threading.current_thread() is threading.main_thread():
            # torch's handler reports a worker's exit as an error.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for child in multiprocessing.active_children():
            child.kill()
    finally:
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass


def _after_fork_in_child() -> None:
    """Stops the analysis in a child: only the rank itself is analysed."""
    global _analysis, _failed
    if _analysis is not None:
        _analysis, _failed = None, True


os.register_at_fork(after_in_child=_after_fork_in_child)

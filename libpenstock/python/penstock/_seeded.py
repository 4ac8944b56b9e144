"""Iterates over a torch DataLoader whose batches have random streams of their
own, so that they depend neither on the number of processes nor on which process
makes them. An epoch can be continued in another process.

torch's own iterator runs, with its order. Any process takes the next batch.
"""

import itertools
import os
import random
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from penstock import _memory
from penstock._clone import clone
from penstock._crew import Crew, CrewPlan
from penstock._crew_epoch import Epoch, Stock, start_epoch
from penstock._seeded_worker import SeededSeat

_NAME = "_penstock_seeded"  # attribute of a loader
_VERSION = 1  # of a state

# Open samples of a process: with four processes, a sample that takes 20 times
# as long as others holds up none of them.
_OPEN_SAMPLES = 24
_GROWTH = 2  # processes at least, of the user's number
_MEMORY_FACTOR = 1.5


def workers_that_fit(
    own: int, granted: int, worker_bytes: int, room_bytes: int
) -> int:
    """Returns the granted number of workers, limited by memory. Each worker
    beyond the user's own number needs 1.5 times one worker's size in free
    memory."""
    if granted <= own or worker_bytes <= 0:
        return max(own, granted)
    left = room_bytes - own * worker_bytes
    extra = max(0, int(left / (_MEMORY_FACTOR * worker_bytes)))
    return min(granted, own + extra)


class _Counted:
    """A sampler without its first items. items: how many it had so far, with
    these; over: it has no more."""

    def __init__(self, sampler: Any, skipped: int):
        self.items = self._skipped = skipped
        self.over = False
        self._sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        for item in itertools.islice(iter(self._sampler), self._skipped, None):
            self.items += 1
            yield item
        self.over = True

    def __len__(self) -> int:
        return len(self._sampler) - self._skipped


class Position:
    """Where an epoch stands. batches: that are behind the trainer, also those
    that failed."""

    def __init__(self, sampler: _Counted, batches: int, begin: dict[str, Any]):
        """begin: the random states before the epoch."""
        self.batches = self._skipped = batches
        self.begin = begin
        self._sampler = sampler

    def update(self, iterator: Any) -> None:
        """After the iterator has returned a batch, or failed."""
        self.batches = self._skipped + iterator._rcvd_idx

    def is_over(self) -> bool:
        return self._sampler.over and self.batches == self._sampler.items


class Run:
    """The epochs of a loader. A copy of the loader begins anew."""

    def __init__(self, loader: Any = None) -> None:
        # Not the loader's truth: its length may be 0 or unknown.
        self.owner = None if loader is None else weakref.ref(loader)
        self.position: Position | None = None  # in the epoch that began last
        self._loaded: dict[str, Any] | None = None
        self._crew: Crew | None = None

    def __reduce__(self) -> tuple:
        return Run, ()

    def plan(self, loader: Any, granted: int | None) -> CrewPlan:
        """Returns how the next epoch is to run. granted: processes that the
        grant allows; None: there is no grant."""
        own = loader.num_workers
        workers = own
        if granted is not None:
            known = self._crew.worker_bytes if self._crew else 0
            size = known or _memory.process_bytes(os.getpid())
            wanted = max(granted, _GROWTH * own)
            room = _memory.room_bytes()
            workers = workers_that_fit(own, wanted, size, room)
        prefetch = loader.prefetch_factor
        sampler = loader.batch_sampler
        samples = loader.batch_size or getattr(sampler, "batch_size", None)
        if isinstance(samples, int) and samples > 0:
            prefetch = max(prefetch, -(-_OPEN_SAMPLES // samples))
        skipped = self._loaded["batches"] if self._loaded else 0
        return CrewPlan(SeededSeat, workers, prefetch, own, skipped)

    def epoch(self, loader: Any, stock: Stock, plan: CrewPlan) -> Epoch:
        """Starts an epoch, or continues one after load()."""
        loaded, self.position, self._crew = self._loaded, None, None
        trainers = _random_states(loader)
        try:
            if loaded and loaded["batches"]:
                _set_random_states(loader, loaded["random"])
            begin = _random_states(loader)
            part = _sampler_part(loader)
            sampler = _Counted(getattr(loader, part), plan.skipped)
            counted = clone(loader, **{part: sampler})
            epoch = start_epoch(counted, stock, plan)
        finally:
            if loaded and loaded["batches"]:
                _set_random_states(loader, trainers, only_global=True)
        if epoch.crew is not None:
            self.position = Position(sampler, plan.skipped, begin)
        self._loaded, self._crew = None, epoch.crew
        return epoch

    def state(self) -> dict[str, Any]:
        """Returns where the last epoch stands, of plain Python types. Raises
        ValueError."""
        if self._loaded:
            return self._loaded
        now = self.position
        if now is None:
            raise ValueError(
                "no seeded epoch of this loader has begun; a framework may "
                "iterate another one that it made of it"
            )
        if now.is_over():
            return {"version": _VERSION, "batches": 0, "random": {}}
        return {
            "version": _VERSION,
            "batches": now.batches,
            "random": now.begin,
        }

    def load(self, loader: Any, state: Any) -> None:
        """Makes the next epoch() continue where state() was called. Raises
        ValueError."""
        if not isinstance(state, dict) or state.get("version") != _VERSION:
            raise ValueError("not a state of penstock.state_dict()")
        batches, states = state.get("batches"), state.get("random")
        if type(batches) is not int or batches < 0:
            raise ValueError(f"the state has {batches!r} batches")
        if not isinstance(states, dict) or bool(batches) != bool(states):
            raise ValueError("the state has no random states")
        try:
            known = len(getattr(loader, _sampler_part(loader)))
        except TypeError:
            known = batches
        if batches > known:
            raise ValueError(
                f"the state has {batches} batches, the loader only {known}"
            )
        self._loaded = state


def run_of(loader: Any) -> Run:
    run = vars(loader).get(_NAME)
    if run is None or not run.owner or run.owner() is not loader:
        run = vars(loader)[_NAME] = Run(loader)
    return run


def _sampler_part(loader: Any) -> str:
    """Returns the attribute whose items are the epoch's batches."""
    return "sampler" if loader.batch_sampler is None else "batch_sampler"


def _random_states(loader: Any) -> dict[str, Any]:
    """Returns what the order of the samples and the epoch's seed follow from,
    of plain Python types."""
    states: dict[str, Any] = {
        "torch": _state_of(sys.modules["torch"].default_generator),
        "random": random.getstate(),
    }
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        kind, words, *rest = numpy.get_state()
        states["numpy"] = (kind, words.tolist(), *rest)
    for name, generator in _generators(loader):
        states[name] = _state_of(generator)
    return states


def _set_random_states(
    loader: Any, states: dict[str, Any], only_global: bool = False
) -> None:
    _set_state(sys.modules["torch"].default_generator, states["torch"])
    random.setstate(states["random"])
    numpy = sys.modules.get("numpy.random")
    if numpy is not None and "numpy" in states:
        numpy.set_state(states["numpy"])
    for name, generator in () if only_global else _generators(loader):
        if name in states:
            _set_state(generator, states[name])


def _state_of(generator: Any) -> bytes:
    return bytes(generator.get_state().tolist())


def _set_state(generator: Any, state: bytes) -> None:
    generator.set_state(generator.get_state().new_tensor(list(state)))


def _generators(loader: Any) -> Iterator[tuple[str, Any]]:
    batches = loader.batch_sampler
    for name, owner in (
        ("loader", loader),
        ("sampler", loader.sampler),
        ("batch_sampler", batches),
        ("batch_sampler.sampler", getattr(batches, "sampler", None)),
    ):
        generator = getattr(owner, "generator", None)
        if isinstance(generator, sys.modules["torch"].Generator):
            yield name, generator

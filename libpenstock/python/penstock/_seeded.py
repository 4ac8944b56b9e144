"""Iterates over a torch DataLoader whose batches have random streams of their
own, so that they depend neither on the number of processes nor on which process
makes them. An epoch can be continued in another process.

torch's own iterator runs, with its order. Any process takes the next batch.
"""

import itertools
import os
from collections.abc import Iterator
from typing import Any

from penstock import _exact_streams, _memory
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
    """Where an epoch stands. batches: that the trainer got so far."""

    def __init__(self, sampler: _Counted, batches: int, begin: dict[str, Any]):
        """begin: the random states before the epoch."""
        self.batches = batches
        self.begin = begin
        self._sampler = sampler

    def is_over(self) -> bool:
        return self._sampler.over and self.batches == self._sampler.items


class Run:
    """The epochs of a loader. A copy of the loader begins anew."""

    def __init__(self) -> None:
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
        samples = loader.batch_size or 1
        prefetch = max(loader.prefetch_factor, -(-_OPEN_SAMPLES // samples))
        skipped = self._loaded["batches"] if self._loaded else 0
        return CrewPlan(SeededSeat, workers, prefetch, own, skipped)

    def epoch(self, loader: Any, stock: Stock, plan: CrewPlan) -> Epoch:
        """Starts an epoch, or continues one after load()."""
        loaded = self._loaded
        trainers = _exact_streams.save()
        if loaded:
            _set_random_states(loader, loaded["random"])
        begin = _random_states(loader)
        part = "sampler" if loader.batch_sampler is None else "batch_sampler"
        sampler = _Counted(getattr(loader, part), plan.skipped)
        counted = clone(loader, **{part: sampler})
        epoch = start_epoch(counted, stock, plan)
        if loaded:
            _exact_streams.load(trainers)
        self.position = Position(sampler, plan.skipped, begin)
        self._loaded, self._crew = None, epoch.crew
        return epoch

    def state(self) -> dict[str, Any]:
        """Returns where the last epoch stands, of plain Python types."""
        if self._loaded:
            return self._loaded
        now = self.position
        if now is None or now.is_over():
            return {"version": _VERSION, "batches": 0, "random": {}}
        return {
            "version": _VERSION,
            "batches": now.batches,
            "random": now.begin,
        }

    def load(self, state: Any) -> None:
        """Makes the next epoch() continue where state() was called. Raises
        ValueError."""
        if not isinstance(state, dict) or state.get("version") != _VERSION:
            raise ValueError("not a state of penstock.state_dict()")
        batches = state.get("batches")
        if not isinstance(batches, int) or batches < 0:
            raise ValueError(f"the state has {batches!r} batches")
        self._loaded = state if batches else None


def run_of(loader: Any) -> Run:
    return vars(loader).setdefault(_NAME, Run())


def _random_states(loader: Any) -> dict[str, Any]:
    """Returns what the order of the samples and the epoch's seed follow
    from."""
    states = {"streams": _exact_streams.save()}
    for name, generator in _generators(loader):
        states[name] = bytes(generator.get_state().tolist())
    return states


def _set_random_states(loader: Any, states: dict[str, Any]) -> None:
    _exact_streams.load(states["streams"])
    for name, generator in _generators(loader):
        if name in states:
            state = generator.get_state()
            generator.set_state(state.new_tensor(list(states[name])))


def _generators(loader: Any) -> Iterator[tuple[str, Any]]:
    batches = loader.batch_sampler
    for name, owner in (
        ("loader", loader),
        ("sampler", loader.sampler),
        ("batch_sampler", batches),
        ("batch_sampler.sampler", getattr(batches, "sampler", None)),
    ):
        generator = getattr(owner, "generator", None)
        if hasattr(generator, "get_state"):
            yield name, generator

"""Decides which loaders feed the training. Pure: no clock, no torch, no
connection.

A step of an optimizer shows it: the loader whose batch came last before the
step trains. Batches of other loaders, of a validation for example, are held
back, and never published.
"""

from collections.abc import Callable
from typing import Any

_ENOUGH = 10  # batches that make a loader train if there is no optimizer

HELD = "held"
TRAINS = "trains"
WAITS = "waits"  # iterated together with a loader that trains: only its times


class Held:
    """The sum of a loader's batches that are not published yet."""

    def __init__(self) -> None:
        self.samples = self.batches = self.wait_ns = self.delay_ns = 0
        self.split: dict[str, int] | None = None

    def add(
        self,
        samples: int,
        wait_ns: int,
        split: dict[str, int] | None,
        delay_ns: int,
    ) -> None:
        self.samples += samples
        self.batches += 1
        self.wait_ns += wait_ns
        self.delay_ns += delay_ns
        if split is not None:
            known = self.split = self.split or {}
            for name, amount in split.items():
                known[name] = known.get(name, 0) + amount


class Tally:
    """One loader."""

    def __init__(self, marked: bool = False):
        """marked: its user called watch(), so that all its batches count."""
        self.marked = marked
        self.role = TRAINS if marked else HELD
        self.batches = 0
        self.held = Held()
        self.alive = True  # the loader exists


class Turn:
    """One pass over a loader. open: it may yield more batches."""

    def __init__(self, tally: Tally):
        self.tally = tally
        self.open = True
        # The spans between two steps in which the last batches came.
        self.span = self.span_before = -2  # none


class Training:
    """All loaders of a process. The caller serialises the calls.

    publish: takes samples, wait_ns, split, delay_ns, and a number of batches,
    as Client.add_batch() does."""

    def __init__(
        self,
        publish: Callable[[int, int, Any, int, int], None],
        has_optimizer: bool = False,
    ):
        # True once the program itself says what to count: then other loaders
        # do not count.
        self.explicit = False
        self._publish = publish
        self._optimizer = has_optimizer
        self._span = 0
        self._turns: list[Turn] = []  # with batches since the last step
        self._last: Turn | None = None
        self._most: Tally | None = None

    def begin(self, tally: Tally) -> Turn:
        if tally.marked:
            self.explicit = True
        if self._optimizer:
            tally.held = Held()  # an earlier pass without steps
        return Turn(tally)

    def batch(
        self,
        turn: Turn,
        samples: int,
        wait_ns: int,
        split: dict[str, int] | None,
        delay_ns: int,
    ) -> None:
        tally = turn.tally
        if self.explicit and not tally.marked:
            return
        if turn.span != self._span:
            turn.span_before, turn.span = turn.span, self._span
            self._turns.append(turn)
        self._last = turn
        tally.batches += 1
        if tally.role == TRAINS:
            self._publish(samples, wait_ns, split, delay_ns, 1)
            return
        tally.held.add(samples, wait_ns, split, delay_ns)
        if tally.role == WAITS:
            self._release(tally)
        elif not self._optimizer:
            self._compare(tally)

    def made_optimizer(self) -> None:
        """From now on, only steps show what trains."""
        if not self._optimizer and self._most:
            self._most.role = HELD
        self._optimizer = True

    def step(self) -> None:
        if not self._turns:
            return
        # A training loop takes a step before it asks for the next batch. The
        # passes of a validation are over.
        turns = [turn for turn in self._turns if turn.open]
        last = self._last if self._last in turns else (turns or [None])[-1]
        self._last, self._turns = None, []
        self._span += 1
        if last is not None:
            self._become(last.tally, TRAINS)
        for turn in turns:
            if turn.span == turn.span_before + 1:
                self._become(turn.tally, WAITS)

    def _become(self, tally: Tally, role: str) -> None:
        if tally.role not in (role, TRAINS):
            tally.role = role
            self._release(tally)

    def _release(self, tally: Tally) -> None:
        held, tally.held = tally.held, Held()
        if tally.role == WAITS:
            held.samples = held.batches = 0
            (held.split or {}).pop("prepared", None)
        self._publish(
            held.samples,
            held.wait_ns,
            held.split,
            held.delay_ns,
            held.batches,
        )

    def _compare(self, tally: Tally) -> None:
        """Without an optimizer, the loader with the most batches trains."""
        most = self._most
        if most is not tally:
            if most and most.alive and most.batches >= tally.batches:
                return
            if most:
                most.role = HELD
            self._most = tally
        if tally.batches >= _ENOUGH:
            self._become(tally, TRAINS)

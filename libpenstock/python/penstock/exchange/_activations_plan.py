"""Which layers keep, offload or recompute what their backward pass needs.
Pure: measured figures in, a plan out."""

import dataclasses
import enum
import itertools
from typing import Iterator, Sequence


class Action(enum.Enum):
    KEEP = "keep"
    OFFLOAD = "offload"
    RECOMPUTE = "recompute"  # its arguments stay on the device
    RECOMPUTE_OFFLOAD = "recompute, arguments offloaded"


@dataclasses.dataclass(frozen=True)
class Layer:
    """One step's figures of a layer; in the order of the forward pass."""

    name: str
    saved_bytes: int  # for the backward pass, arguments included
    argument_bytes: int
    forward_s: float
    backward_s: float


@dataclasses.dataclass(frozen=True)
class Cost:
    step_s: float
    peak_bytes: int  # of activations on the device


@dataclasses.dataclass(frozen=True)
class Plan:
    actions: dict[str, Action]  # by layer
    window_bytes: int  # of copies under way, at a time
    cost: Cost  # as predicted


# In which a search makes room.
_ROUNDS = 16


class BudgetError(ValueError):
    """A budget that no plan keeps to."""


def _stays(layer: Layer, action: Action) -> int:
    """Bytes on the device between the layer's two passes."""
    if action is Action.KEEP:
        return layer.saved_bytes
    return layer.argument_bytes if action is Action.RECOMPUTE else 0


def _moves(layer: Layer, action: Action) -> int:
    """Bytes that go to the host and come back."""
    if action is Action.OFFLOAD:
        return layer.saved_bytes
    return layer.argument_bytes if action is Action.RECOMPUTE_OFFLOAD else 0


class _Step:
    """Plays a step: one computation, one link that copies one thing at a time,
    and a window of bytes that are on the device because they are on their
    way."""

    def __init__(
        self,
        layers: Sequence[Layer],
        actions: Sequence[Action],
        link_bytes_per_s: float,
        window_bytes: int,
    ):
        self._layers = layers
        self._actions = actions
        self._rate = link_bytes_per_s
        self._window = window_bytes
        self._stays = [_stays(*one) for one in zip(layers, actions)]
        self._moves = [_moves(*one) for one in zip(layers, actions)]
        self._now_s = 0.0
        self._peak = 0

    def play(self) -> Cost:
        resident = self._forward()
        self._backward(resident)
        return Cost(self._now_s, self._peak)

    def _forward(self) -> int:
        """Bytes that stay until the backward pass."""
        resident = 0
        link_free_s = 0.0
        leaving: list[tuple[float, int, int]] = []  # until, bytes, layer
        for index, layer in enumerate(self._layers):
            self._now_s += layer.forward_s
            resident += self._stays[index]
            moves = self._moves[index]
            link_free_s = max(link_free_s, self._now_s) + moves / self._rate
            leaving.append((link_free_s, moves, index))
            while sum(one[1] for one in leaving[:-1]) > self._window:
                self._now_s = max(self._now_s, leaving.pop(0)[0])
            leaving = [one for one in leaving if one[0] > self._now_s]
            way_bytes = sum(one[1] for one in leaving)
            self._peak = max(self._peak, resident + way_bytes)
        for _, moves, index in leaving:  # needed before it has left
            self._moves[index] = 0
            self._stays[index] += moves
            resident += moves
        return resident

    def _backward(self, resident: int) -> None:
        begin_s: dict[int, float] = {}
        before = [0, *itertools.accumulate(self._moves)]
        link_free_s = self._now_s
        for index in reversed(range(len(self._layers))):
            layer, moves = self._layers[index], self._moves[index]
            if moves:
                asked_s = begin_s.get(self._asked_at(index), self._now_s)
                link_free_s = max(link_free_s, asked_s) + moves / self._rate
                self._now_s = max(self._now_s, link_free_s)
            begin_s[index] = self._now_s
            resident -= self._stays[index]
            ahead = min(self._window, before[index])
            self._peak = max(self._peak, resident + layer.saved_bytes + ahead)
            self._now_s += layer.backward_s
            if self._actions[index] not in (Action.KEEP, Action.OFFLOAD):
                self._now_s += layer.forward_s

    def _asked_at(self, index: int) -> int:
        """The layer at whose beginning the window has room for this one."""
        ahead = 0
        for later in range(index, len(self._layers)):
            ahead += self._moves[later]
            if ahead > self._window:
                return later
        return len(self._layers) - 1


def predict(
    layers: Sequence[Layer],
    actions: Sequence[Action],
    link_bytes_per_s: float,
    window_bytes: int,
) -> Cost:
    return _Step(layers, actions, link_bytes_per_s, window_bytes).play()


class _Search:
    """Changes one layer at a time, from a plan that treats all alike."""

    def __init__(
        self,
        layers: Sequence[Layer],
        begin: Action,
        choices: Sequence[Action],
        budget_bytes: int,
        link_bytes_per_s: float,
        window_bytes: int,
    ):
        self._layers = layers
        self._choices = choices
        self._budget = budget_bytes
        self._rate = link_bytes_per_s
        self.window_bytes = window_bytes
        self.actions = [begin] * len(layers)
        self.cost = self._predict(self.actions)

    def run(self) -> "_Search":
        self._free()
        if self.fits():
            while self._hasten():
                pass
        return self

    def fits(self) -> bool:
        return self.cost.peak_bytes <= self._budget

    def _free(self) -> None:
        """Takes the changes that cost the least time for each byte, until the
        plan fits or nothing frees more. Of many layers several are changed
        before all are looked at again: planning is part of a step."""
        at_once = max(1, len(self._layers) // _ROUNDS)
        while not self.fits():
            freeing = [
                (self._price(cost), index, actions[index])
                for index in range(len(self._layers))
                for actions, cost in self._changes(index)
                if cost.peak_bytes < self.cost.peak_bytes
            ]
            if not freeing:
                return
            freeing.sort(key=lambda one: one[0])
            changed: set[int] = set()
            for _, index, action in freeing:
                if index in changed:
                    continue
                changed.add(index)
                actions = list(self.actions)
                actions[index] = action
                cost = self._predict(actions)
                if cost.peak_bytes < self.cost.peak_bytes:
                    self.actions, self.cost = actions, cost
                if len(changed) == at_once or self.fits():
                    break

    def _price(self, changed: Cost) -> float:
        slower_s = changed.step_s - self.cost.step_s
        # More than what is to be freed is worth nothing.
        enough = max(changed.peak_bytes, self._budget)
        return slower_s / (self.cost.peak_bytes - enough)

    def _hasten(self) -> bool:
        """Changes each layer once for the better; whether one was."""
        before_s = self.cost.step_s
        for index in range(len(self._layers)):
            for actions, cost in self._changes(index):
                if (
                    cost.peak_bytes <= self._budget
                    and cost.step_s < self.cost.step_s
                ):
                    self.actions, self.cost = actions, cost
        return self.cost.step_s < before_s

    def _changes(self, index: int) -> Iterator[tuple[list[Action], Cost]]:
        if not self._layers[index].saved_bytes:
            return
        for choice in self._choices:
            if choice is not self.actions[index]:
                changed = list(self.actions)
                changed[index] = choice
                yield changed, self._predict(changed)

    def _predict(self, actions: Sequence[Action]) -> Cost:
        return predict(self._layers, actions, self._rate, self.window_bytes)


def choose(
    layers: Sequence[Layer], budget_bytes: int, link_bytes_per_s: float | None
) -> Plan:
    """The plan of the shortest step that was found to keep to the budget.
    link_bytes_per_s: None where there is no tier to offload to. Raises
    BudgetError where none keeps to it."""
    if not layers:
        raise BudgetError("no layers to make room with: name some")
    choices = list(Action)
    windows = [0, *(budget_bytes // share for share in (8, 4, 2))]
    if link_bytes_per_s is None:
        choices, windows = [Action.KEEP, Action.RECOMPUTE], [0]
    ends = choices[0], choices[-1]  # the fastest, and the smallest
    searches = [
        _Search(
            layers, begin, choices, budget_bytes, link_bytes_per_s or 1.0, window
        ).run()
        for begin in ends
        for window in windows
    ]
    fitting = [one for one in searches if one.fits()]
    if not fitting:
        raise _too_small(layers, budget_bytes, searches)
    best = min(fitting, key=lambda one: one.cost.step_s)
    actions = {layer.name: one for layer, one in zip(layers, best.actions)}
    return Plan(actions, best.window_bytes, best.cost)


def _too_small(
    layers: Sequence[Layer], budget_bytes: int, searches: Sequence[_Search]
) -> BudgetError:
    least = min(search.cost.peak_bytes for search in searches)
    largest = max(layers, key=lambda one: one.saved_bytes)
    return BudgetError(
        f"budget of {budget_bytes} bytes for activations: these layers need "
        f"at least {least}, of which {largest.name} alone "
        f"{largest.saved_bytes}; raise the budget, make the batch smaller, or "
        "name smaller layers"
    )

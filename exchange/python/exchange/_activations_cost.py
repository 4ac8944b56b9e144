"""Predicts the cost of a step in which each layer keeps, offloads or recomputes
its saved tensors. Pure functions."""

import collections
import dataclasses
import enum
from typing import Iterator, Sequence


class Action(enum.Enum):
    KEEP = "keep"
    OFFLOAD = "offload"
    RECOMPUTE = "recompute"  # its arguments stay on the device
    RECOMPUTE_OFFLOAD = "recompute, arguments offloaded"


@dataclasses.dataclass(frozen=True)
class Layer:
    """Figures of a layer for one step, in the order of the forward pass."""

    name: str
    saved_bytes: int  # for the backward pass, including arguments
    argument_bytes: int
    gradient_bytes: int  # approximate peak of gradients in its backward pass
    forward_s: float
    backward_s: float
    recompute_s: float  # the second forward pass, which may stop early


@dataclasses.dataclass(frozen=True)
class Allowance:
    """Limits, per layer, on bytes on the device that are being copied."""

    leaving_bytes: int  # in the forward pass
    late_bytes: int  # in the backward pass, still leaving
    ahead_bytes: int  # in the backward pass: fetched before they are needed


@dataclasses.dataclass(frozen=True)
class Cost:
    step_s: float
    peak_bytes: int  # on the device: activations and their gradients


def stays(layer: Layer, action: Action) -> int:
    """Returns the bytes on the device between the layer's two passes."""
    if action is Action.KEEP:
        return layer.saved_bytes
    return layer.argument_bytes if action is Action.RECOMPUTE else 0


def moves(layer: Layer, action: Action) -> int:
    """Returns the bytes that are copied to the host and back."""
    if action is Action.OFFLOAD:
        return layer.saved_bytes
    return layer.argument_bytes if action is Action.RECOMPUTE_OFFLOAD else 0


class _Link:
    """A link that runs one copy at a time."""

    def __init__(self, bytes_per_s: float):
        self._bytes_per_s = bytes_per_s
        self._free_s = 0.0

    def copy(self, now_s: float, size: int) -> float:
        """Returns the time at which the copy ends."""
        self._free_s = max(self._free_s, now_s) + size / self._bytes_per_s
        return self._free_s


class _Leaving:
    """Copies to the host that are in progress, oldest first."""

    def __init__(self) -> None:
        self._copies: collections.deque[tuple[float, int, int]] = (
            collections.deque()
        )
        self.bytes = 0

    def add(self, until_s: float, size: int, index: int) -> None:
        self._copies.append((until_s, size, index))
        self.bytes += size

    def pop(self) -> tuple[float, int, int]:
        first = self._copies.popleft()
        self.bytes -= first[1]
        return first

    def forget_gone(self, now_s: float) -> None:
        while self._copies and self._copies[0][0] <= now_s:
            self.pop()

    def wait_for(self, room: int, now_s: float) -> float:
        """Waits until the bytes being copied fit into `room`; returns that
        time."""
        while self._copies and self.bytes > room:
            now_s = max(now_s, self.pop()[0])
        return now_s

    def __iter__(self) -> Iterator[tuple[float, int, int]]:
        return iter(self._copies)


class _Step:
    """Simulates a step with one computation, one link, and a budget. The budget
    limits the bytes being copied. If the computation itself needs more than the
    budget, the peak exceeds the budget."""

    def __init__(
        self,
        layers: Sequence[Layer],
        actions: Sequence[Action],
        link_bytes_per_s: float,
        budget_bytes: int,
    ):
        self._layers = layers
        self._actions = actions
        self._rate = link_bytes_per_s
        self._budget = budget_bytes
        self._stays = list(map(stays, layers, actions))
        self._moves = list(map(moves, layers, actions))
        self._leaving = _Leaving()
        self._now_s = 0.0
        self._peak = 0
        self.late: dict[int, int] = {}  # bytes that have not left in time
        self.leaving_bytes: list[int] = []  # allowed bytes by layer
        self.late_bytes: list[int] = []
        self.ahead_bytes: list[int] = []

    def play(self) -> Cost:
        self._forward()
        for _, size, index in self._leaving:  # needed before copied
            self._moves[index] = 0
            self._stays[index] += size
            self.late[index] = size
        self._backward()
        return Cost(self._now_s, self._peak)

    def _forward(self) -> None:
        link = _Link(self._rate)
        leaving = self._leaving
        resident = 0
        # The last layer whose forward pass waits for copies to the host.
        last = max(
            (i for i, one in enumerate(self._actions) if one is not Action.KEEP),
            default=0,
        )
        needed_then = max(self._needs()[last:]) - self._moves[last]
        for index, layer in enumerate(self._layers):
            resident += self._stays[index]
            most = needed_then if index == last else resident
            room = max(0, self._budget - most)
            self.leaving_bytes.append(room)
            action = self._actions[index]
            if action is not Action.KEEP:
                leaving.forget_gone(self._now_s)
                self._now_s = leaving.wait_for(room, self._now_s)
            if action is Action.RECOMPUTE_OFFLOAD:  # arguments exist
                self._send(link, index, room)
            self._now_s += layer.forward_s
            leaving.forget_gone(self._now_s)
            if action is Action.OFFLOAD:
                self._send(link, index, room)
            self._peak = max(self._peak, resident + leaving.bytes)

    def _send(self, link: _Link, index: int, room: int) -> None:
        size = self._moves[index]
        self._now_s = self._leaving.wait_for(room - size, self._now_s)
        self._leaving.add(link.copy(self._now_s, size), size, index)

    def _backward(self) -> None:
        needs = self._needs()
        link = _Link(self._rate)
        there_s: dict[int, float] = {}  # arrival time of each requested copy
        coming = [index for index, size in enumerate(self._moves) if size]
        ahead, late = 0, sum(self.late.values())
        for index in reversed(range(len(self._layers))):
            layer, action = self._layers[index], self._actions[index]
            size = self._moves[index]
            if coming and coming[-1] == index:
                coming.pop()
                there_s[index] = link.copy(self._now_s, size)
            else:
                ahead -= size
            while action is not Action.KEEP and coming:
                first, size = coming[-1], self._moves[coming[-1]]
                most = max(needs[first + 1 : index + 1])
                if most + ahead + size > self._budget:
                    break
                there_s[coming.pop()] = link.copy(self._now_s, size)
                ahead += size
            self.ahead_bytes.append(ahead)
            spare = max(0, self._budget - needs[index] - ahead)
            self.late_bytes.append(late + spare)
            late -= self.late.get(index, 0)
            self._peak = max(self._peak, needs[index] + ahead)
            self._now_s = max(self._now_s, there_s.get(index, 0.0))
            self._now_s += layer.backward_s
            if action in (Action.RECOMPUTE, Action.RECOMPUTE_OFFLOAD):
                self._now_s += layer.recompute_s
        self.ahead_bytes.reverse()
        self.late_bytes.reverse()

    def _needs(self) -> list[int]:
        """Returns the bytes that each backward pass needs, without prefetched
        tensors."""
        needs = []
        before = 0
        for layer, kept in zip(self._layers, self._stays):
            needs.append(before + layer.saved_bytes + layer.gradient_bytes)
            before += kept
        return needs


def predict(
    layers: Sequence[Layer],
    actions: Sequence[Action],
    link_bytes_per_s: float,
    budget_bytes: int,
) -> Cost:
    return _Step(layers, actions, link_bytes_per_s, budget_bytes).play()


def without_late(
    layers: Sequence[Layer],
    actions: Sequence[Action],
    link_bytes_per_s: float,
    budget_bytes: int,
) -> list[Action]:
    """Returns the actions without copies that are late.

    A copy is late if it is incomplete when the backward pass begins. Such a
    tensor stays on the device in any case."""
    stay = {
        Action.OFFLOAD: Action.KEEP,
        Action.RECOMPUTE_OFFLOAD: Action.RECOMPUTE,
    }
    found = list(actions)
    step = _Step(layers, actions, link_bytes_per_s, budget_bytes)
    step.play()
    for index in step.late:
        found[index] = stay[found[index]]
    return found


def allowances(
    layers: Sequence[Layer],
    actions: Sequence[Action],
    link_bytes_per_s: float,
    budget_bytes: int,
) -> list[Allowance]:
    """Returns the allowances under which a step meets predict()'s result."""
    step = _Step(layers, actions, link_bytes_per_s, budget_bytes)
    step.play()
    return [
        Allowance(*one)
        for one in zip(step.leaving_bytes, step.late_bytes, step.ahead_bytes)
    ]

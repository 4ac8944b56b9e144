"""Chooses the layers that keep, offload or recompute their saved tensors. Pure
functions: measured figures in, a plan out."""

import dataclasses
from typing import Iterator, Mapping, Sequence

from penstock.exchange._activations_cost import (
    Action,
    Allowance,
    Cost,
    Layer,
    allowances,
    moves,
    predict,
    without_late,
)


@dataclasses.dataclass(frozen=True)
class Plan:
    actions: Mapping[str, Action]  # by layer name
    # By layer name. A layer without an entry has no limit.
    allowances: Mapping[str, Allowance] = dataclasses.field(
        default_factory=dict
    )
    cost: Cost | None = None  # the prediction


# Step times within this ratio count as equal; the model and the link are not
# more accurate. The plan that moves the fewest bytes depends on them least.
_ALIKE = 1.02
# Fraction of the link's rate that a plan relies on.
_SURE = 0.95
# Rounds in which a search frees memory.
_ROUNDS = 8


class BudgetError(ValueError):
    """No plan meets the budget."""


class _Search:
    """Changes one layer at a time, starting from a plan with one action for
    all."""

    def __init__(
        self,
        layers: Sequence[Layer],
        begin: Action,
        choices: Sequence[Action],
        budget_bytes: int,
        link_bytes_per_s: float,
    ):
        self._layers = layers
        self._choices = choices
        self._budget = budget_bytes
        self._rate = link_bytes_per_s
        self.actions = [
            begin if layer.saved_bytes else Action.KEEP for layer in layers
        ]
        self.cost = self._predict(self.actions)

    def run(self) -> "_Search":
        self._free()
        if self.fits():
            while self._hasten():
                pass
            self._send_no_late()
        return self

    def fits(self) -> bool:
        return self.cost.peak_bytes <= self._budget

    def moved_bytes(self) -> int:
        return sum(map(moves, self._layers, self.actions))

    def allowances(self) -> list[Allowance]:
        return allowances(self._layers, self.actions, self._rate, self._budget)

    def _free(self) -> None:
        """Applies the changes with the least time per freed byte. Ends when the
        plan fits, or no change frees memory. With many layers, each round
        changes several, because planning time is part of a step."""
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
        # Bytes freed beyond the budget have no value.
        enough = max(changed.peak_bytes, self._budget)
        return slower_s / (self.cost.peak_bytes - enough)

    def _hasten(self) -> bool:
        """Tries to improve each layer once; returns whether any change
        helped."""
        before_s = self.cost.step_s
        for index in range(len(self._layers)):
            for actions, cost in self._changes(index):
                if (
                    cost.peak_bytes <= self._budget
                    and cost.step_s < self.cost.step_s
                ):
                    self.actions, self.cost = actions, cost
        return self.cost.step_s < before_s

    def _send_no_late(self) -> None:
        actions = without_late(
            self._layers, self.actions, self._rate, self._budget
        )
        cost = self._predict(actions)
        # A layer that keeps its tensors does not fetch others, so it may take
        # longer.
        if (
            cost.peak_bytes <= self._budget
            and cost.step_s <= _ALIKE * self.cost.step_s
        ):
            self.actions, self.cost = actions, cost

    def _changes(self, index: int) -> Iterator[tuple[list[Action], Cost]]:
        if not self._layers[index].saved_bytes:
            return
        for choice in self._choices:
            if choice is not self.actions[index]:
                changed = list(self.actions)
                changed[index] = choice
                yield changed, self._predict(changed)

    def _predict(self, actions: Sequence[Action]) -> Cost:
        return predict(self._layers, actions, self._rate, self._budget)


def choose(
    layers: Sequence[Layer], budget_bytes: int, link_bytes_per_s: float | None
) -> Plan:
    """Returns the plan with the shortest step that was found within the budget.
    link_bytes_per_s: None if there is no tier to offload to. Raises BudgetError
    if no plan meets the budget."""
    if not layers:
        raise BudgetError("no layers to make room with: name some")
    choices = list(Action)
    begins = [Action.KEEP, Action.RECOMPUTE, Action.RECOMPUTE_OFFLOAD]
    if link_bytes_per_s is None:
        choices = begins = [Action.KEEP, Action.RECOMPUTE]
    rate = _SURE * (link_bytes_per_s or 1.0)
    searches = [
        _Search(layers, begin, choices, budget_bytes, rate).run()
        for begin in begins
    ]
    fitting = [one for one in searches if one.fits()]
    if not fitting:
        raise _too_small(layers, budget_bytes, searches)
    shortest_s = min(one.cost.step_s for one in fitting)
    best = min(
        (one for one in fitting if one.cost.step_s <= _ALIKE * shortest_s),
        key=_Search.moved_bytes,
    )
    names = [layer.name for layer in layers]
    return Plan(
        dict(zip(names, best.actions)),
        dict(zip(names, best.allowances())),
        best.cost,
    )


def _least(layer: Layer) -> int:
    """Returns the minimum bytes of the layer's backward pass."""
    return layer.saved_bytes + layer.gradient_bytes


def _too_small(
    layers: Sequence[Layer], budget_bytes: int, searches: Sequence[_Search]
) -> BudgetError:
    least = min(search.cost.peak_bytes for search in searches)
    largest = max(layers, key=_least)
    return BudgetError(
        f"budget of {budget_bytes} bytes for activations: the smallest plan "
        f"found needs {least}, and {largest.name} alone "
        f"{_least(largest)}; raise the budget, make the batch smaller, or "
        "name smaller layers"
    )

"""Which layers keep, offload or recompute what their backward pass needs.
Pure: measured figures in, a plan out."""

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
    actions: Mapping[str, Action]  # by layer
    # By layer; one without may have all bytes that there are on their way.
    allowances: Mapping[str, Allowance] = dataclasses.field(
        default_factory=dict
    )
    cost: Cost | None = None  # as predicted


# Steps that differ by less are alike: a model and a link are no surer. What
# moves least then depends on them least.
_ALIKE = 1.02
# Of a link's rate, on which a plan relies.
_SURE = 0.95
# In which a search makes room.
_ROUNDS = 8


class BudgetError(ValueError):
    """A budget that no plan keeps to."""


class _Search:
    """Changes one layer at a time, from a plan that treats all alike."""

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

    def _send_no_late(self) -> None:
        actions = without_late(
            self._layers, self.actions, self._rate, self._budget
        )
        cost = self._predict(actions)
        # A layer that keeps does not ask for what comes, so it may take longer.
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
    """The plan of the shortest step that was found to keep to the budget.
    link_bytes_per_s: None where there is no tier to offload to. Raises
    BudgetError where none keeps to it."""
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
    """Bytes that its backward pass needs in any case."""
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

"""Steps an optimizer for some of its parameters at a time."""

import collections
import importlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

_ALL_AT_ONCE = (torch.optim.LBFGS, torch.optim.SparseAdam)
# Hooks of one optimizer, and of all optimizers; torch 1 has none. Registered
# step hooks must run.
_STEP_HOOKS = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
_OPTIMIZER_MODULE = importlib.import_module("torch.optim.optimizer")
_GLOBAL_HOOKS = ("_global_optimizer_pre_hooks", "_global_optimizer_post_hooks")

Group = dict[str, Any]


class Stepper:
    """Uses the optimizer's own state and settings, so that schedulers and state
    dicts stay valid."""

    def __init__(self, optimizer: torch.optim.Optimizer):
        self._optimizer = optimizer
        self._places = {
            id(parameter): number
            for number, group in enumerate(optimizer.param_groups)
            for parameter in group["params"]
        }
        # The same optimizer, limited to the current parameters.
        self._some = object.__new__(type(optimizer))
        self._some.__dict__.update(optimizer.__dict__)
        self._some.__dict__.pop("step", None)  # a scheduler's, for all

    def refusals(self, model: nn.Module) -> list[str]:
        """Returns the reasons for which the optimizer cannot step this way."""
        if isinstance(self._optimizer, _ALL_AT_ONCE):
            name = type(self._optimizer).__name__
            return [f"{name} cannot step for one parameter at a time"]
        trained = {
            id(parameter): name
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }
        left_out = [
            f"{name} is not the optimizer's: give it that, or freeze it with "
            "requires_grad_(False)"
            for place, name in trained.items()
            if place not in self._places
        ]
        if any(
            parameter.requires_grad and id(parameter) not in trained
            for group in self._optimizer.param_groups
            for parameter in group["params"]
        ):
            left_out.append("the optimizer has parameters of another model")
        return left_out

    def settings_of(self, parameter: Tensor) -> Group:
        """Returns the parameter's group in the optimizer: the current
        settings."""
        return self._optimizer.param_groups[self._places[id(parameter)]]

    def group_of(self, *parameters: Tensor) -> Group:
        """Returns a group with the current settings, for parameters of one
        group. Tensors are cloned, because a scheduler changes a tensor rate in
        place."""
        settings = {
            name: value.clone() if isinstance(value, Tensor) else value
            for name, value in self.settings_of(parameters[0]).items()
        }
        return {**settings, "params": list(parameters)}

    def groups_of(self, parameters: list[Tensor]) -> list[Group]:
        by_place: dict[int, list[Tensor]] = {}
        for parameter in parameters:
            place = self._places[id(parameter)]
            by_place.setdefault(place, []).append(parameter)
        return [self.group_of(*some) for some in by_place.values()]

    def is_plain_sgd(self, group: Group) -> bool:
        """Returns whether a step is only weights += -lr x gradient, after
        weight decay."""
        return (
            type(self._optimizer) is torch.optim.SGD
            and group["momentum"] == 0
            and not group.get("maximize", False)
            and not any(self._hooks())
        )

    def _hooks(self) -> Iterator[Any]:
        for name in _STEP_HOOKS:
            yield getattr(self._optimizer, name, None)
        for name in _GLOBAL_HOOKS:
            yield getattr(_OPTIMIZER_MODULE, name, None)

    def step(
        self, gradients: list[tuple[nn.Parameter, Tensor]], groups: list[Group]
    ) -> None:
        """REQUIRES: one thread at a time. It may differ from the training
        loop's thread. That loop's zero_grad() must not find these gradients, so
        copies stand for the parameters."""
        doubles = {
            parameter: _double(parameter, gradient)
            for parameter, gradient in gradients
        }
        self._some.param_groups = [
            {**group, "params": [doubles[one] for one in group["params"]]}
            for group in groups
        ]
        self._some.state = collections.defaultdict(dict)
        state = self._optimizer.state
        for parameter, double in doubles.items():
            if parameter in state:
                self._some.state[double] = state[parameter]
        try:
            self._some.step()
            for parameter, double in doubles.items():
                if double in self._some.state:
                    state[parameter] = self._some.state[double]
        finally:  # they have gradients
            self._some.param_groups, self._some.state = [], {}


def _double(parameter: nn.Parameter, gradient: Tensor) -> nn.Parameter:
    """Returns a parameter with the gradient, in the same memory."""
    double = nn.Parameter(parameter.detach())
    double.grad = gradient
    return double

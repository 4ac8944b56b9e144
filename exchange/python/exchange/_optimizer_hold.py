"""An optimizer under a trainer's control."""

import types
from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer

_TAKEN = ("step", "state_dict")
# If set, a GradScaler leaves the gradients to the optimizer, and passes itself
# to it. If unset, a GradScaler fails because it finds no gradients.
_TAKES_SCALER = "_step_supports_amp_scaling"
# Schedulers check these to see whether step() was called: torch 1, torch 2.
_STEP_COUNT, _OPT_CALLED = "_step_count", "_opt_called"


class OptimizerHold:
    """Redirects optimizer.step() to end_step, and calls wait before the
    optimizer's state is read. After release, both call the optimizer's own
    methods."""

    def __init__(
        self,
        optimizer: Optimizer,
        end_step: Callable[..., None],
        wait: Callable[[], None],
    ):
        self._optimizer = optimizer
        self._end_step = end_step
        self._wait = wait
        self._is_held = True
        self._own = {name: getattr(optimizer, name) for name in _TAKEN}
        self._ours = {"step": self._make_step(), "state_dict": self._make_state()}
        for name, function in self._ours.items():
            # Attributes that a scheduler has set on the wrapped function.
            function.__dict__.update(self._own[name].__dict__)
            setattr(optimizer, name, types.MethodType(function, optimizer))
        self._took_scaler = getattr(optimizer, _TAKES_SCALER, False)
        setattr(optimizer, _TAKES_SCALER, True)

    def has_scaler(self) -> bool:
        """Returns whether a GradScaler called step()."""
        return hasattr(self._optimizer, "found_inf")

    def _make_step(self) -> Callable[..., Any]:
        def step(
            optimizer: Optimizer, closure: Any = None, **options: Any
        ) -> Any:
            if not self._is_held:
                return self._own["step"](closure, **options)
            self._end_step(closure, **options)
            count = getattr(optimizer, _STEP_COUNT, 0)
            setattr(optimizer, _STEP_COUNT, count + 1)
            setattr(optimizer, _OPT_CALLED, True)
            return None

        return step

    def _make_state(self) -> Callable[..., Any]:
        def state_dict(_: Optimizer) -> dict[str, Any]:
            if self._is_held:
                self._wait()
            return self._own["state_dict"]()

        return state_dict

    def let_go(self) -> None:
        """Releases the optimizer. A wrapper that a scheduler has added
        stays."""
        self._is_held = False
        setattr(self._optimizer, _TAKES_SCALER, self._took_scaler)
        for name, function in self._ours.items():
            now = self._optimizer.__dict__.get(name)
            if getattr(now, "__func__", None) is function:
                delattr(self._optimizer, name)

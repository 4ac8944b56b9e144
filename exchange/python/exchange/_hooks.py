"""Hooks that run when a parameter's gradient is complete."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


class GradientHook:
    """call: runs once in each backward pass, with the gradient in
    parameter.grad."""

    def __init__(self, parameter: Tensor, call: Callable[[], None]):
        self._node: Any = None
        if hasattr(parameter, "register_post_accumulate_grad_hook"):
            self._handle = parameter.register_post_accumulate_grad_hook(
                lambda _: call()
            )
            return
        # Before torch 2.1. The node lives as long as it is referenced.
        self._node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        self._handle = self._node.register_hook(lambda *_: call())

    def remove(self) -> None:
        self._handle.remove()
        self._node = None

"""Gradient clipping that needs one layer's gradient at a time."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from penstock.exchange._layers import Layer

_MARK = "_penstock_has_no_gradient"
_NAMES = ("clip_grad_norm_", "clip_grad_value_")


def check_clipping(clip_norm: float | None, clip: str) -> None:
    """Raises ValueError for an unknown or unsupported way of clipping."""
    if clip not in ("global", "layer"):
        raise ValueError(f'no way to clip {clip!r}: "layer"')
    if clip_norm is None:
        return
    if not clip_norm > 0:
        raise ValueError(f"clip_norm {clip_norm}: must be above 0")
    if clip == "global":
        raise ValueError(
            "clipping by the norm of all gradients needs all of them at once, "
            "which MirrorTrainer never has: with clip=\"layer\" each layer's "
            "own is clipped to clip_norm; penstock.exchange.ddp_hook leaves "
            "gradients to be clipped"
        )


def clip_layer(gradient: torch.Tensor, most: float) -> None:
    norm = float(gradient.norm())
    if norm > most:
        gradient.mul_(most / norm)


def refuse_clipping_of(layers: list[Layer]) -> None:
    """Makes torch's clipping functions raise. They would find no gradients
    here, and would silently do nothing."""
    for layer in layers:
        setattr(layer.parameter, _MARK, True)
    for name in _NAMES:
        function = getattr(torch.nn.utils, name)
        if not hasattr(function, _MARK):
            _replace_everywhere(name, function, _guarded(function))


def _replace_everywhere(
    name: str, function: Callable[..., Any], guarded: Callable[..., Any]
) -> None:
    """Also replaces the function in modules that imported it from torch by
    name."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get(name) is function:
            names[name] = guarded


def is_trained(parameter: torch.Tensor) -> bool:
    """Returns whether an open trainer trains the parameter."""
    return hasattr(parameter, _MARK)


def allow_clipping_of(layers: list[Layer]) -> None:
    for layer in layers:
        if is_trained(layer.parameter):
            delattr(layer.parameter, _MARK)


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(parameters: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(parameters, torch.Tensor):
            parameters = [parameters]
        parameters = list(parameters)
        if any(map(is_trained, parameters)):
            raise RuntimeError(
                f"{function.__name__}() comes too late: MirrorTrainer has "
                'applied these gradients; give it clip_norm and clip="layer" '
                "instead"
            )
        return function(parameters, *arguments, **named)

    setattr(guarded, _MARK, True)
    return guarded

"""Patches torch's optimizers, to see their steps."""

import functools
import sys
from collections.abc import Callable
from typing import Any

from penstock import _process
from penstock._process import guarded, made_optimizer

_PATCHED = "_penstock_patched"  # attribute of a function
_LARGE_MODEL = 1_000_000  # elements of its parameters


def patch_optimizer(optimizer_class: Any) -> None:
    """Patches step() of each class, below torch's own wrapper where possible.
    torch.compile() of torch 2.1 removes that one, and with it the public hooks.
    torch 1.13 has none."""
    stock = optimizer_class.__init__
    if hasattr(stock, _PATCHED):
        return

    @functools.wraps(stock)
    def __init__(self: Any, *arguments: Any, **options: Any) -> None:
        _make(type(self))
        stock(self, *arguments, **options)

    setattr(__init__, _PATCHED, True)
    optimizer_class.__init__ = __init__
    for kind in _subclasses(optimizer_class):
        if "step" in vars(kind):
            if hasattr(kind.step, "hooked"):  # torch's, for an object
                made_optimizer()
            _patch_step(kind)


def _subclasses(kind: Any) -> Any:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


@guarded
def _make(kind: Any) -> None:
    made_optimizer()
    _patch_step(kind)


def _patch_step(kind: Any) -> None:
    step = kind.step
    if not hasattr(step, _PATCHED):
        kind.step = _counted_step(step)


def _counted_step(step: Callable) -> Callable:
    @functools.wraps(step)
    def counted_step(*arguments: Any, **options: Any) -> Any:
        result = step(*arguments, **options)
        _note_step(arguments)
        return result

    setattr(counted_step, _PATCHED, True)
    return counted_step


@guarded
def _note_step(arguments: tuple) -> None:
    """arguments: of step(), an optimizer first."""
    now = _process.current
    if now is not None:
        with now.lock:
            now.training.step()
        if not now.knows_threads:
            now.knows_threads = True
            threads = _compute_threads(arguments[0]) if arguments else 0
            if threads:
                now.client.report(compute_threads=threads)


def _compute_threads(optimizer: Any) -> int:
    """Returns the number of threads that compute the model on the CPU, or 0. An
    optimizer's parameters may be there while a GPU computes the model. A small
    model gains nothing by threads."""
    torch = sys.modules["torch"]
    if torch.cuda.is_initialized():
        return 0
    elements = 0
    for group in getattr(optimizer, "param_groups", ()):
        for parameter in group["params"]:
            if parameter.device.type != "cpu":
                return 0
            elements += parameter.numel()
    return torch.get_num_threads() if elements >= _LARGE_MODEL else 0

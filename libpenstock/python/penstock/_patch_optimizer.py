"""Patches torch's optimizers, to see their steps."""

import functools
from collections.abc import Callable
from typing import Any

from penstock import _process
from penstock._process import guarded, made_optimizer

_PATCHED = "_penstock_patched"  # attribute of a function


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
        _note_step()
        return result

    setattr(counted_step, _PATCHED, True)
    return counted_step


@guarded
def _note_step() -> None:
    now = _process.current
    if now is not None:
        with now.lock:
            now.training.step()

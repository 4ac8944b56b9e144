"""Runs a layer's forward pass again to recompute the tensors for its backward
pass."""

import threading
import time
from typing import Any, Callable

import torch
from torch.autograd.graph import saved_tensors_hooks

from penstock.exchange._activations_saved import (
    Kept,
    Version,
    has_plain_storage,
    storage_of,
)
from penstock.exchange._activations_surroundings import Surroundings

_thread = threading.local()


def is_recomputing() -> bool:
    return getattr(_thread, "is_recomputing", False)


class _Enough(Exception):
    """All tensors that the layer had saved are recomputed."""


class _Argument:
    """A tensor argument of a layer's call."""

    def __init__(self, tensor: torch.Tensor, kept: Any):
        self.device = tensor.device
        self._kept = kept
        self._requires_grad = tensor.requires_grad

    def get(self) -> torch.Tensor:
        return self._kept.get().detach().requires_grad_(self._requires_grad)


def _replace(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, kind):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(_replace(one, kind, change) for one in value)
    if type(value) is dict:
        return {key: _replace(one, kind, change) for key, one in value.items()}
    return value


def tensors_in(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    _replace(value, torch.Tensor, found.append)
    return found


class _Missing:
    """A saved tensor that is recomputed instead of kept."""

    def __init__(self, call: "RecomputedCall", index: int, tensor: Any):
        self._call, self._index = call, index
        self._like = tensor.shape, tensor.dtype
        self._version = Version(tensor)

    def get(self) -> torch.Tensor:
        self._version.check()
        tensor = self._call._take(self._index)
        if tensor is None or (tensor.shape, tensor.dtype) != self._like:
            raise RuntimeError(
                f"{self._call.name}: its forward pass saves other tensors when "
                "it runs again with the same input; leave it out of the layers"
            )
        return tensor


class RecomputedCall:
    """One call of a layer; only its arguments are kept."""

    def __init__(
        self,
        name: str,
        layer: torch.nn.Module,
        kept: set[int],
        begin_again: Callable[[], None] = lambda: None,
    ):
        """kept: addresses of storages that stay in any case. begin_again:
        called before the layer runs again."""
        self.name = name
        self.recompute_s = 0.0  # seconds, without the wait for arguments
        self.again_s = 0.0  # seconds, with that wait
        self._begin_again = begin_again
        self._layer = layer
        self._kept = kept
        self._missing = 0
        self._found: dict[int, Kept] = {}

    def run(
        self,
        forward: Callable[..., Any],
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        keep: Callable[[torch.Tensor], Any],
    ) -> Any:
        """keep: returns the placeholder of an argument until the argument is
        needed."""
        devices = []
        versions = []

        def note(tensor: torch.Tensor) -> _Argument:
            devices.append(tensor.device)
            versions.append((tensor, tensor._version))
            return _Argument(tensor, keep(tensor))

        self._forward = forward
        self._arguments = _replace(arguments, torch.Tensor, note)
        self._surroundings = Surroundings(
            self._layer, devices[0] if devices else torch.device("cpu")
        )
        args, kwargs = arguments
        with saved_tensors_hooks(self._pack, lambda packed: packed.get()):
            result = forward(*args, **kwargs)
        if self._missing and any(one._version != was for one, was in versions):
            raise RuntimeError(
                f"{self.name}: modifies in place what it is called with, so "
                "that it cannot run again; leave it out of the layers"
            )
        return result

    def _stays(self, tensor: torch.Tensor) -> bool:
        return (
            not has_plain_storage(tensor)
            or storage_of(tensor)._cdata in self._kept
        )

    def _pack(self, tensor: torch.Tensor) -> Any:
        if self._stays(tensor):
            return Kept(tensor)
        self._missing += 1
        return _Missing(self, self._missing - 1, tensor)

    def _take(self, index: int) -> torch.Tensor | None:
        if index not in self._found:
            self._run_again()
        found = self._found.pop(index, None)
        return found and found.get()

    def _run_again(self) -> None:
        if torch.is_grad_enabled():
            raise RuntimeError(
                f"{self.name}: backward(create_graph=True) cannot go through a "
                "layer that is recomputed; detach its Activations for that"
            )
        begin_s = self._now_s()
        self._begin_again()
        args, kwargs = _replace(self._arguments, _Argument, _Argument.get)
        was, _thread.is_recomputing = is_recomputing(), True
        self._found = {}
        there_s = self._now_s()
        try:
            with self._surroundings.restored(), torch.enable_grad():
                with saved_tensors_hooks(self._find, lambda packed: None):
                    self._forward(*args, **kwargs)
        except Exception:  # PyTorch 1.13 raises a copy of _Enough
            if len(self._found) < self._missing:
                raise
        finally:
            _thread.is_recomputing = was
        end_s = self._now_s()
        self.recompute_s += end_s - there_s
        self.again_s += end_s - begin_s

    def _now_s(self) -> float:
        return time.perf_counter()

    def _find(self, tensor: torch.Tensor) -> None:
        if self._stays(tensor):
            return
        self._found[len(self._found)] = Kept(tensor)
        if len(self._found) == self._missing:
            raise _Enough

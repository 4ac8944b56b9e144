"""Inputs of a layer's forward pass other than its arguments."""

import contextlib
from typing import Any, Callable, Iterator

import torch

from penstock.exchange._activations_saved import SMALL_BYTES, check_version


def _autocast_now(kind: str) -> Callable[[], Any]:
    if hasattr(torch, "get_autocast_dtype"):
        enabled = torch.is_autocast_enabled(kind)
        dtype = torch.get_autocast_dtype(kind)
    elif kind == "cuda":
        enabled = torch.is_autocast_enabled()
        dtype = torch.get_autocast_gpu_dtype()
    else:
        enabled = torch.is_autocast_cpu_enabled()
        dtype = torch.get_autocast_cpu_dtype()
    return lambda: torch.autocast(kind, enabled=enabled, dtype=dtype)


def _is_small(buffer: torch.Tensor) -> bool:
    return buffer.numel() * buffer.element_size() < SMALL_BYTES


class Surroundings:
    """Random state, autocast settings and small buffers. A forward pass may
    change such buffers, as BatchNorm does."""

    def __init__(self, layer: torch.nn.Module, device: torch.device):
        self._device = device
        self._random = torch.get_rng_state()
        self._cuda = [device] if device.type == "cuda" else []
        self._cuda_random = [torch.cuda.get_rng_state(one) for one in self._cuda]
        self._autocast = _autocast_now(device.type)
        self._weights = []
        self._buffers = []
        for module in layer.modules():  # once, because it takes time
            for weight in module._parameters.values():
                if weight is not None:
                    self._weights.append((weight, weight._version))
            for name, buffer in module._buffers.items():
                if buffer is not None and _is_small(buffer):
                    self._buffers.append((module, name, buffer.clone()))

    @contextlib.contextmanager
    def restored(self) -> Iterator[None]:
        for weight, version in self._weights:
            check_version(weight._version, version)
        with torch.random.fork_rng(self._cuda), self._autocast():
            torch.set_rng_state(self._random)
            for device, state in zip(self._cuda, self._cuda_random):
                torch.cuda.set_rng_state(state, device)
            with self._buffers_before():
                yield

    @contextlib.contextmanager
    def _buffers_before(self) -> Iterator[None]:
        now = [module._buffers[name] for module, name, _ in self._buffers]
        try:
            for module, name, before in self._buffers:
                module._buffers[name] = before.clone()
            yield
        finally:
            for (module, name, _), buffer in zip(self._buffers, now):
                module._buffers[name] = buffer

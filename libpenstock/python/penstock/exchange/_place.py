"""Where a model is that is exchanged: the CPU's memory, or a GPU's."""

import contextlib
from collections.abc import Iterator
from typing import Protocol

import torch

from penstock.exchange import _native


class Place(Protocol):
    device: torch.device
    native: _native.Device | None

    def stream_of(self, gradient: torch.Tensor) -> int:
        """On which this thread's work on it is, as the library takes it. The
        gradient may be dropped as soon as the library has it."""

    def apart(self) -> contextlib.AbstractContextManager[None]:
        """What is begun within is done at its end, and waits for nothing that
        others have begun."""


class Cpu:
    device = torch.device("cpu")
    native = None

    def stream_of(self, gradient: torch.Tensor) -> int:
        return 0

    def apart(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()


class Gpu:
    def __init__(self, device: torch.device):
        """Raises ValueError where nothing can be exchanged on it."""
        self.device = device
        try:
            from penstock.exchange import _native_cuda
        except ImportError as missing:
            raise ValueError(
                f"the model is on {device}, and penstock.exchange was built "
                f"without CUDA here ({missing}): build it where nvcc is, or "
                "train on the CPU"
            ) from missing
        try:
            self.native = _native_cuda.open_device(device.index)
        except ConnectionError as error:
            raise ValueError(str(error)) from error
        self._stream = torch.cuda.Stream(device)

    def stream_of(self, gradient: torch.Tensor) -> int:
        stream = torch.cuda.current_stream(self.device)
        gradient.record_stream(stream)  # where it was made on another one
        return stream.cuda_stream

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        with torch.cuda.stream(self._stream):
            yield
        self._stream.synchronize()


def place_on(device: torch.device) -> Place:
    return Gpu(device) if device.type == "cuda" else Cpu()

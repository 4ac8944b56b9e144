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

    def here(self) -> contextlib.AbstractContextManager[object]:
        """Around what uses the library's device in the caller's thread."""

    def make_room(self) -> None:
        """Before the library takes memory. Raises RuntimeError where the GPU
        has had an error."""


class Cpu:
    device = torch.device("cpu")
    native = None

    def stream_of(self, gradient: torch.Tensor) -> int:
        return 0

    def apart(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def here(self) -> contextlib.AbstractContextManager[object]:
        return contextlib.nullcontext()

    def make_room(self) -> None:
        pass


class Gpu:
    def __init__(self, device: torch.device):
        """Raises ValueError where nothing can be exchanged on it."""
        self.device = device
        try:
            from penstock.exchange import _native_cuda
        except ImportError as missing:
            raise ValueError(
                f"the model is on {device}, and penstock.exchange has no CUDA "
                f"here ({missing}): build it where nvcc is, or train on the CPU"
            ) from missing
        try:
            with torch.cuda.device(device):
                self.native = _native_cuda.open_device(device.index)
                self._stream = torch.cuda.Stream(device)
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(str(error)) from error

    def stream_of(self, gradient: torch.Tensor) -> int:
        stream = torch.cuda.current_stream(self.device)
        gradient.record_stream(stream)  # where it was made on another one
        return stream.cuda_stream

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        try:
            with torch.cuda.stream(self._stream):
                yield
        finally:
            self._stream.synchronize()

    def here(self) -> contextlib.AbstractContextManager[object]:
        # Without, the library would go back to the thread's current GPU, and
        # take memory of that with it.
        return torch.cuda.device(self.device)

    def make_room(self) -> None:
        # The library's memory is none of torch's, which keeps what it has freed.
        with torch.cuda.device(self.device):
            torch.cuda.empty_cache()


def place_on(device: torch.device) -> Place:
    return Gpu(device) if device.type == "cuda" else Cpu()

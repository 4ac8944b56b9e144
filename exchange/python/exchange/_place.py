"""The place of an exchanged model: CPU memory or GPU memory."""

import contextlib
from collections.abc import Iterator
from typing import Protocol

import torch

from penstock.exchange import _native


class Place(Protocol):
    device: torch.device
    native: _native.Device | None

    def stream_of(self, gradient: torch.Tensor) -> int:
        """Returns the stream of this thread's work on the gradient, as the
        library expects it. The caller may drop the gradient once the library
        has it."""

    def apart(self) -> contextlib.AbstractContextManager[None]:
        """Completes work queued within at its end, without waiting for other
        work."""

    def here(self) -> contextlib.AbstractContextManager[object]:
        """Encloses use of the library's device in the caller's thread."""

    def make_room(self) -> None:
        """Call before the library allocates memory. Raises RuntimeError after
        an error of the GPU."""


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
        """Raises ValueError if the device cannot be used for exchanges."""
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
        gradient.record_stream(stream)  # in case it was made on another stream
        return stream.cuda_stream

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        try:
            with torch.cuda.stream(self._stream):
                yield
        finally:
            self._stream.synchronize()

    def here(self) -> contextlib.AbstractContextManager[object]:
        # Otherwise the library would switch back to the thread's current GPU,
        # and allocate memory on it.
        return torch.cuda.device(self.device)

    def make_room(self) -> None:
        # The library does not use torch's allocator, which caches freed memory.
        with torch.cuda.device(self.device):
            torch.cuda.empty_cache()


def place_on(device: torch.device) -> Place:
    return Gpu(device) if device.type == "cuda" else Cpu()

"""An emulated GPU: tensors stay on the CPU, and the library does the same
operations with them as on a GPU."""

import contextlib
import os
import sys
from unittest import mock

from exchange_case import torch
from penstock.exchange import _exchange

sys.path.insert(0, os.environ["PENSTOCK_EMULATED_CUDA"])
import _native_cuda  # noqa: E402


class EmulatedGpu:
    device = torch.device("cpu")

    def __init__(self):
        self.native = _native_cuda.open_device(0)
        self.steps_apart = 0
        self.gradients = []

    def stream_of(self, gradient):
        # CPU memory is reused at once, not when a stream reaches that point:
        # keep a reference.
        self.gradients.append(gradient)
        return 0

    @contextlib.contextmanager
    def apart(self):
        yield
        self.steps_apart += 1

    def here(self):
        return contextlib.nullcontext()

    def make_room(self):
        pass


@contextlib.contextmanager
def emulated_gpus():
    """Gives each model its own emulated GPU; yields the list."""
    places = []

    def place_on(_):
        places.append(EmulatedGpu())
        return places[-1]

    with contextlib.ExitStack() as patches:
        patches.enter_context(
            mock.patch.object(_exchange, "place_on", place_on)
        )
        # Tensors from a GPU are copies.
        patches.enter_context(
            mock.patch.object(
                torch.Tensor, "cpu", lambda tensor: tensor.detach().clone()
            )
        )
        yield places

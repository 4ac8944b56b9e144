"""A GPU that is emulated: tensors stay the CPU's, and what the library does with
them is what it does on a GPU."""

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
        # The CPU's memory has its next owner at once, and not as late as a
        # stream comes to it.
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
    """Each model has one of its own; yields them."""
    places = []

    def place_on(_):
        places.append(EmulatedGpu())
        return places[-1]

    with contextlib.ExitStack() as patches:
        patches.enter_context(
            mock.patch.object(_exchange, "place_on", place_on)
        )
        # What comes from a GPU is a copy.
        patches.enter_context(
            mock.patch.object(
                torch.Tensor, "cpu", lambda tensor: tensor.detach().clone()
            )
        )
        yield places

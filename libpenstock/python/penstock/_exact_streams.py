"""A process's random streams as bytes."""

import ctypes
import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock._exact_numpy import NumpyStream
from penstock._exact_random import RandomStream


class _Stream(NamedTuple):
    name: str
    get: Callable[[], Any]
    set: Callable[[Any], None]


def _get_torch() -> bytes:
    state = sys.modules["torch"].get_rng_state()
    return ctypes.string_at(state.data_ptr(), state.numel())


def _set_torch(state: bytes) -> None:
    torch = sys.modules["torch"]
    torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


_random = RandomStream()
_numpy = NumpyStream()

STREAMS = (
    _Stream("torch", _get_torch, _set_torch),
    _Stream("random", _random.get, _random.set),
    _Stream("numpy", _numpy.get, _numpy.set),
)


def save() -> bytes:
    states = {stream.name: stream.get() for stream in STREAMS}
    return pickle.dumps(states, pickle.HIGHEST_PROTOCOL)


def load(saved: bytes) -> None:
    states = pickle.loads(saved)
    for stream in STREAMS:
        stream.set(states[stream.name])

"""A process's random streams as bytes."""

import ctypes
import pickle
import random
import sys
from collections.abc import Callable
from typing import Any, NamedTuple


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


def _get_numpy() -> Any:
    numpy = sys.modules.get("numpy.random")
    return numpy and numpy.get_state(legacy=False)


def _set_numpy(state: Any) -> None:
    if state is not None:
        sys.modules["numpy.random"].set_state(state)


STREAMS = (
    _Stream("torch", _get_torch, _set_torch),
    _Stream("random", random.getstate, random.setstate),
    _Stream("numpy", _get_numpy, _set_numpy),
)


def save() -> bytes:
    states = {stream.name: stream.get() for stream in STREAMS}
    return pickle.dumps(states, pickle.HIGHEST_PROTOCOL)


def load(saved: bytes) -> None:
    states = pickle.loads(saved)
    for stream in STREAMS:
        stream.set(states[stream.name])

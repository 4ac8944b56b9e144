"""numpy's global random stream, read and written fast.

numpy's own functions take 50 microseconds each, as long as everything else that
an exchange of streams does. So the generator's memory tells whether the stream
was used, and takes a new state. A second normal value is kept elsewhere: where
there is one, numpy's functions run."""

import ctypes
import sys
from typing import Any

_STATE_BYTES = 624 * 4 + 4  # of MT19937: its key and position


class NumpyStream:
    """For one thread."""

    def __init__(self) -> None:
        # The generator's, when it had no second normal value.
        self._memory: bytes | None = None

    def get(self) -> Any:
        """Returns the generator's memory, or numpy's own state where that is
        not all; None if numpy is not loaded."""
        numpy = sys.modules.get("numpy.random")
        if numpy is None:
            return None
        if self._is_known(numpy):
            return self._memory
        state = numpy.get_state(legacy=False)
        memory = None if state["has_gauss"] else _content(state)
        self._memory = memory if memory == _memory(numpy) else None
        return self._memory or state

    def set(self, state: Any) -> None:
        if state is None:
            return
        numpy = sys.modules["numpy.random"]
        is_memory = isinstance(state, bytes)
        if is_memory and self._is_known(numpy):
            # Not memmove(), which lets go of Python's lock.
            (ctypes.c_char * _STATE_BYTES).from_address(_address(numpy)).raw = state
        else:
            numpy.set_state(_state_of(state) if is_memory else state)
        self._memory = state if is_memory else None

    def _is_known(self, numpy: Any) -> bool:
        """Returns whether nothing was drawn since."""
        return self._memory is not None and self._memory == _memory(numpy)


def _address(numpy: Any) -> int:
    return numpy.mtrand._rand._bit_generator.ctypes.state_address


def _memory(numpy: Any) -> bytes | None:
    try:
        kind = type(numpy.mtrand._rand._bit_generator)
        if kind is numpy.MT19937:
            return ctypes.string_at(_address(numpy), _STATE_BYTES)
    except AttributeError:  # another numpy
        pass
    return None


def _content(state: Any) -> bytes | None:
    """Returns what the memory of a generator in this state has."""
    if state["bit_generator"] != "MT19937":
        return None
    inner = state["state"]
    return inner["key"].tobytes() + inner["pos"].to_bytes(4, sys.byteorder)


def _state_of(memory: bytes) -> dict[str, Any]:
    words = memoryview(memory).cast("I").tolist()
    inner = {"key": words[:-1], "pos": words[-1]}
    return {
        "bit_generator": "MT19937",
        "state": inner,
        "has_gauss": 0,
        "gauss": 0.0,
    }

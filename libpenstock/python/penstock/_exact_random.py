"""Python's global random stream, read and written fast.

Its own functions make an object of each of 625 words. So the generator's memory
is read and written, if it was seen to hold the state."""

import ctypes
import random
import struct
from typing import Any

_WORDS = struct.Struct("625I")  # the state, then the position
_OFFSET = object.__basicsize__
_POSITION_BYTES = 4


class RandomStream:
    """For one thread."""

    def __init__(self) -> None:
        self._has_memory: bool | None = None  # None: not tried yet

    def get(self) -> tuple:
        """Returns the words as bytes, and the second normal value."""
        if self._has_memory is None:
            self._has_memory = _memory() == _own_words()
        words = _memory() if self._has_memory else _own_words()
        return words, random._inst.gauss_next  # type: ignore[attr-defined]

    def set(self, state: tuple) -> None:
        words, gauss = state
        if self._has_memory:
            moved = words[-_POSITION_BYTES:] + words[:-_POSITION_BYTES]
            ctypes.memmove(_address(), moved, _WORDS.size)
            random._inst.gauss_next = gauss  # type: ignore[attr-defined]
        else:
            version = random.getstate()[0]
            random.setstate((version, _WORDS.unpack(words), gauss))


def _address() -> int:
    return id(random._inst) + _OFFSET  # type: ignore[attr-defined]


def _memory() -> bytes:
    """Returns what would be the words, from the object's memory."""
    found = ctypes.string_at(_address(), _WORDS.size)
    return found[_POSITION_BYTES:] + found[:_POSITION_BYTES]


def _own_words() -> bytes:
    words: Any = random.getstate()[1]
    return _WORDS.pack(*words)

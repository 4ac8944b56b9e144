"""Finds out whether a dataset keeps state from one sample to the next.

What it does not see: state in global variables, in attributes of classes, in
objects of C without a pickle, in files, and in other processes; of a large
attribute the content behind the first 64 KB as pickled, except for the identities
of elements at both ends, and objects behind the first 50. Runs no code of the
dataset's classes."""

import functools
import hashlib
import io
import itertools
import pickle
import random
import sys
import types
from typing import Any

_MAX_BYTES = 1 << 16
_MAX_OBJECTS = 400
_MAX_INSIDE = 50  # objects of an attribute
_MAX_ELEMENTS = 500_000  # at each end of a large collection
_UNSEEN = b"not pickled"  # such as an open file

class _Enough(Exception):
    pass


class _Digest(io.RawIOBase):
    """Takes an attribute's pickle up to a limit."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._left = _MAX_BYTES

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.take(data)
        return len(data)

    def take(self, buffer: Any) -> None:
        data = memoryview(buffer).cast("B")
        self._hash.update(data[: self._left])
        self._left -= len(data)
        if self._left <= 0:
            raise _Enough

    def add(self, number: int) -> None:
        """Beyond the limit."""
        self._hash.update(str(number).encode())

    def value(self) -> bytes:
        return self._hash.digest()


class _Pickler(pickle.Pickler):
    """Pickles one attribute, and sets the objects in it aside."""

    def __init__(self, digest: _Digest, objects: list[Any]):
        super().__init__(digest, 5, buffer_callback=digest.take)
        self._objects = objects

    def reducer_override(self, value: Any) -> Any:
        if value is _stand_in:
            return NotImplemented
        if isinstance(value, (type, types.ModuleType, types.CodeType)):
            return _stand_in, (repr(value),)
        if isinstance(value, types.FunctionType):
            cells = [_content(cell) for cell in value.__closure__ or ()]
            defaults = value.__defaults__, value.__kwdefaults__
            return _stand_in, (value.__qualname__, cells, defaults)
        if isinstance(value, (types.MethodType, types.BuiltinFunctionType)):
            return _stand_in, (value.__qualname__, value.__self__)
        if _is_tensor(type(value)):
            return _stand_in, (id(value), value._version, tuple(value.shape))
        is_generator = _is_generator(type(value))
        if isinstance(value, _COLLECTIONS):  # of a subclass
            # Pickle knows the object before it looks into it: it may be its own
            # attribute or element.
            return _stand_in, (), _dict_of(value), *_elements(value)
        if is_generator or _parts(value) is not None:
            if is_generator or len(self._objects) < _MAX_INSIDE:
                self._objects.append(value)
            return _stand_in, (id(value),)
        if _has_python_pickle(type(value)):
            return _stand_in, (_UNSEEN,)
        try:
            return value.__reduce_ex__(5)
        except Exception:
            return _stand_in, (_UNSEEN,)


def _stand_in(*parts: Any) -> None:
    """Stands for an object in a pickle that is never read."""


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _parts(value: Any) -> "dict[str, Any] | None":
    """Returns the attributes of an object that has no pickle in C."""
    kind = type(value)
    if _has_own_pickle(kind) and not _has_python_pickle(kind):
        return None
    return _dict_of(value)


def _dict_of(value: Any) -> "dict[str, Any] | None":
    try:
        parts = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return parts if isinstance(parts, dict) else None


_PICKLES = "__reduce_ex__", "__reduce__", "__getstate__"


@functools.lru_cache
def _has_own_pickle(kind: type) -> bool:
    return any(
        getattr(kind, name, None) is not getattr(object, name, None)
        for name in _PICKLES
    )


@functools.lru_cache
def _has_python_pickle(kind: type) -> bool:
    """Of the program or a package, which may change the object."""
    return kind.__module__.partition(".")[0] not in sys.stdlib_module_names and (
        any(
            isinstance(getattr(kind, name, None), types.FunctionType)
            for name in _PICKLES
        )
    )


@functools.lru_cache
def _is_tensor(kind: type) -> bool:
    return issubclass(kind, _class("torch", "Tensor"))


@functools.lru_cache
def _is_generator(kind: type) -> bool:
    return issubclass(kind, (random.Random, types.GeneratorType)) or any(
        issubclass(kind, _class(module, name))
        for module, name in (
            ("numpy.random", "Generator"),
            ("numpy.random", "RandomState"),
            ("numpy.random", "BitGenerator"),
            ("torch", "Generator"),
        )
    )


def _class(module: str, name: str) -> Any:
    return getattr(sys.modules.get(module), name, ())


class Look:
    """What a dataset's and collate_fn's attributes were at one moment."""

    def __init__(self, dataset: Any, collate: Any):
        self.generator: str | None = None  # a random generator's place
        self._digests: dict[tuple[int, str], tuple[str, bytes]] = {}
        objects: list[Any] = []
        roots = dataset, collate
        self._add((0, ""), "the dataset or collate_fn", roots, objects)
        done: dict[int, Any] = {}
        while objects and len(done) < _MAX_OBJECTS:
            value = objects.pop(0)
            if id(value) not in done:
                done[id(value)] = value
                for name, part in (_parts(value) or {}).copy().items():
                    place = f"{type(value).__name__}.{name}"
                    self._add((id(value), name), place, part, objects)
        self._alive = done.keys() | {0}

    def _add(
        self, key: tuple[int, str], place: str, part: Any, objects: list[Any]
    ) -> None:
        inside: list[Any] = []
        digest = _digest(part, inside)
        if part is not None:
            self._digests[key] = place, digest
        if self.generator is None and any(
            _is_generator(type(value)) for value in inside
        ):
            self.generator = place
        objects.extend(inside)

    def changed(self, earlier: "Look") -> str | None:
        """Returns an attribute that differs, if any. One that had no value
        before, or None, is not counted: files are opened late."""
        for key, seen in earlier._digests.items():
            if key[0] in self._alive and self._digests.get(key) != seen:
                return seen[0]
        return None

    def is_settled(self, earlier: "Look") -> bool:
        """Returns whether no attribute has got its first value since."""
        return self._digests.keys() <= earlier._digests.keys()


_COLLECTIONS = dict, list, tuple, set, frozenset


def _elements(value: Any) -> "tuple[Any, Any]":
    """Returns the elements and the items of a collection, as its base class has
    them: one of the two is None."""
    if isinstance(value, dict):
        return None, iter(dict.items(value))
    base = next(base for base in _COLLECTIONS if isinstance(value, base))
    return base.__iter__(value), None


def _add_elements(digest: _Digest, part: Any) -> None:
    """Of a large collection: another element has another identity."""
    if not isinstance(part, _COLLECTIONS):
        return
    if isinstance(part, dict):
        items: Any = dict.items(part)
        joined: Any = itertools.chain.from_iterable
        first: Any = joined(itertools.islice(items, _MAX_ELEMENTS))
        last: Any = joined(itertools.islice(reversed(items), _MAX_ELEMENTS))
        size = dict.__len__(part)
    elif isinstance(part, (list, tuple)):
        base: Any = list if isinstance(part, list) else tuple
        first = base.__getitem__(part, slice(_MAX_ELEMENTS))
        last = base.__getitem__(part, slice(-_MAX_ELEMENTS, None))
        size = base.__len__(part)
    else:  # has no order, and no last elements
        base = set if isinstance(part, set) else frozenset
        elements = base.__iter__(part)
        first, last = itertools.islice(elements, 2 * _MAX_ELEMENTS), ()
        size = base.__len__(part)
    digest.add(hash((size, *map(id, first), *map(id, last))))


def _digest(part: Any, inside: list[Any]) -> bytes:
    digest = _Digest()
    try:
        _Pickler(digest, inside).dump(part)
    except _Enough:
        _add_elements(digest, part)
    except RecursionError:
        raise  # nothing is known: it counts as state
    except Exception:
        return _UNSEEN
    return digest.value()

"""A node's cache of samples."""

import grp
import logging
import os
from typing import TYPE_CHECKING, Any, Literal

from penstock.loader._native import Cache, Dataset, fingerprint_of_text
from penstock.loader._options import integer, natural

if TYPE_CHECKING:
    from penstock.loader._native import CacheCounters

_log = logging.getLogger("penstock.loader")
_LONGEST_KEEP_S = 604800
_GREATEST_GROUP = (1 << 32) - 2  # the next number is reserved


def _bytes_of(option: str, size: int | Literal["auto"]) -> int:
    """Returns the size in bytes; 0: auto."""
    if isinstance(size, str):
        number = 0 if size == "auto" else -1
    else:
        number = integer(option, size) or -1
    if number < 0:
        raise ValueError(f"{option}={size!r}: allowed: 1 or more, or 'auto'")
    return natural(option, number)


def _group_number(group: int | str | None) -> int | None:
    if group is None:
        return None
    if isinstance(group, str):
        try:
            return grp.getgrnam(group).gr_gid
        except (KeyError, ValueError):
            raise ValueError(
                f"group={group!r}: there is no such group"
            ) from None
    number = integer("group", group)
    if not 0 <= number <= _GREATEST_GROUP:
        raise ValueError(
            f"group={number}: allowed: a name, or 0 to {_GREATEST_GROUP}"
        )
    return number


def _name_of(name: str | None) -> str:
    """Returns the name; "": derived from the data."""
    if name is None:
        return ""
    if not isinstance(name, str):
        raise TypeError(f"name={name!r}: has to be a text, or None")
    if not name or not name.isascii():
        raise ValueError(
            f"name={name!r}: allowed: 1 to 64 letters, digits, dots, dashes "
            "and underscores, no dot in front"
        )
    return name


def _keep_of(keep: int) -> int:
    keep = integer("keep", keep)
    if not 0 <= keep <= _LONGEST_KEEP_S:
        raise ValueError(f"keep={keep}: allowed: 0 to {_LONGEST_KEEP_S}")
    return keep


def _bytes_of_data(data: str | bytes) -> bytes:
    if isinstance(data, str):
        return data.encode("utf-8", "surrogateescape")
    if not isinstance(data, bytes):
        raise TypeError(f"data={data!r}: has to be a text, or bytes")
    return data


class SampleCache:
    """Samples by number, in memory shared by all processes of the user, or of a
    group, on this node.

    The cache never replaces a sample. It may be forked and pickled; an
    unpickled copy joins the same cache."""

    def __init__(
        self,
        dataset: Dataset | None = None,
        *,
        samples: int | None = None,
        data: str | bytes | None = None,
        size: int | Literal["auto"] = "auto",
        name: str | None = None,
        group: int | str | None = None,
        keep: int = 0,
    ):
        """Joins the node's cache of a Dataset, or of any other data.

        For other data, samples is the number of samples. data identifies the
        data; it must also differ for the same data prepared otherwise.

        size: bytes that this job fills on this node; "auto": half of what its
        memory cgroups leave.
        name: 1 to 64 letters, digits, dots, dashes, underscores; None: derived
        from the data.
        group: name or number of a group whose members share the cache. They
        must trust each other's samples.
        keep: seconds that the cache is kept after its last use.

        Raises TypeError or ValueError for an invalid value, ValueError if the
        cache of that name holds other data, OSError if the cache is
        unavailable.
        """
        self._is_of_dataset = dataset is not None
        if dataset is not None:
            if not isinstance(dataset, Dataset):
                raise TypeError(
                    f"dataset={dataset!r}: has to be open_dataset()'s; of "
                    "other data give samples and data"
                )
            if samples is not None or data is not None:
                raise ValueError("a Dataset, or samples and data, not both")
            samples = len(dataset)
            fingerprint = dataset.fingerprint
            data_set = os.fsencode(os.path.abspath(dataset.path))
        else:
            if samples is None or not data:
                raise ValueError("a Dataset is needed, or samples and data")
            data_set = _bytes_of_data(data)
            fingerprint = fingerprint_of_text(data_set)
        self._open(
            {
                "samples": natural("samples", samples),
                "fingerprint": fingerprint,
                "data_set": data_set,
                "most_bytes": _bytes_of("size", size),
                "name": _name_of(name),
                "group": _group_number(group),
                "keep_s": _keep_of(keep),
            }
        )

    def _open(self, options: dict[str, Any]) -> None:
        self._options = options
        self._cache = Cache(**options)

    def __getstate__(self) -> Any:
        return self._is_of_dataset, self._options

    def __setstate__(self, state: Any) -> None:
        self._is_of_dataset, options = state
        self._open(options)

    def get(self, index: int) -> bytes | None:
        """Returns the sample, or None if it is not cached. Raises IndexError
        for an unknown sample."""
        sample = self._cache.get(self._number(index))
        self._log_warnings()
        return sample

    def put(self, index: int, sample: bytes | bytearray | memoryview) -> None:
        """Copies the sample into the cache, if it is missing and there is room.
        For a Dataset's sample: its bytes as stored."""
        try:
            view = memoryview(sample)
        except TypeError:
            raise TypeError(
                f"a sample has to be bytes, not {type(sample).__name__}"
            ) from None
        self._cache.put(self._number(index), view)
        self._log_warnings()

    def _number(self, index: int) -> int:
        number = integer("index", index)
        if 0 <= number < self.samples:
            return number
        raise IndexError(f"sample {number} of {self.samples}")

    def __contains__(self, index: int) -> bool:
        number = integer("index", index)
        return 0 <= number < self.samples and number in self._cache

    def __len__(self) -> int:
        """Returns the number of cached samples, which is counted on each
        call."""
        return len(self._cache)

    def __bool__(self) -> bool:
        return True  # also if empty

    @property
    def samples(self) -> int:
        """Returns the number of samples of the data, cached or not."""
        return self._cache.samples

    @property
    def path(self) -> str:
        return self._cache.path

    def counters(self) -> "CacheCounters":
        """Returns this process's use of the cache."""
        return self._cache.counters()

    def _before(self, dataset: Dataset, peers: str | None) -> Dataset:
        own = self._options["fingerprint"], self._options["samples"]
        if own != (dataset.fingerprint, len(dataset)):
            raise ValueError(
                f"{self.path}: holds other data than {dataset.path}; open it "
                "with SampleCache(dataset)"
            )
        cached = self._cache.before(dataset, peers or "")
        self._log_warnings()
        return cached

    def _log_warnings(self) -> None:
        for what in self._cache.take_warnings():
            _log.warning("%s", what)


def source_of_loader(
    dataset: Dataset,
    cache: int | Literal["auto"] | SampleCache | None,
    peers: str | None,
) -> tuple[Dataset, SampleCache | None]:
    """Returns the dataset with its cache in front. If the cache is unavailable,
    the job runs without it."""
    _check_peers(peers, cache)
    opened = _cache_of_loader(cache, dataset)
    if opened is None:
        return dataset, None
    return opened._before(dataset, peers), opened


def _check_peers(peers: str | None, cache: object) -> None:
    if peers is None:
        return
    if not isinstance(peers, str):
        raise TypeError(f"cache_peers={peers!r}: has to be a text, or None")
    if not peers or not peers.isascii():
        raise ValueError(
            f"cache_peers={peers!r}: allowed: 'auto', or nodes as Slurm lists "
            "them"
        )
    if cache is None:
        raise ValueError(
            f"cache_peers={peers!r}: this node has no cache; give cache="
        )


def _cache_of_loader(
    cache: int | Literal["auto"] | SampleCache | None, dataset: Dataset
) -> SampleCache | None:
    if cache is None or isinstance(cache, SampleCache):
        return cache
    _bytes_of("cache", cache)
    try:
        return SampleCache(dataset, size=cache)
    except (MemoryError, OSError) as error:
        _log.warning("without a cache: %s", error)
        return None

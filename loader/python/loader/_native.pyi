from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

Position = tuple[int, int, bool, int, int]

class Counters(TypedDict):
    prepared: int
    broken: int
    bytes: int
    cached: int
    cached_bytes: int
    peer: int
    peer_bytes: int
    fetch_ns: int
    prep_ns: int
    cpu_ns: int
    threads: int

class CacheCounters(TypedDict):
    hits: int
    hit_bytes: int
    misses: int
    damaged: int
    dropped: int
    peer: int
    peer_bytes: int

class ShareCounters(TypedDict):
    used_batches: int
    lost_claims: int
    times_out: int
    alone_batches: int

class LeftOut(TypedDict):
    count: int
    first: list[str]

class Facts(TypedDict):
    text: str
    doubtful: bool
    samples: int
    labelled: int
    classes: int | None
    duplicates: int
    empty_classes: LeftOut
    left_out: dict[str, LeftOut]

class Dataset:
    def describe(self) -> Facts: ...
    def __len__(self) -> int: ...
    def label(self, index: int) -> int: ...
    def name(self, index: int) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def fingerprint(self) -> int: ...
    @property
    def tensor_bytes(self) -> int: ...

def open_dataset(
    paths: list[bytes],
    *,
    record_bytes: int,
    label_bytes: int,
    header_bytes: int,
    image: str,
    label: str,
    last_dot: bool,
    allow_empty: bool,
) -> Dataset: ...

def fingerprint_of_text(text: bytes) -> int: ...

class Cache:
    def __init__(
        self,
        *,
        samples: int,
        fingerprint: int,
        data_set: bytes,
        most_bytes: int,
        name: str,
        group: int | None,
        keep_s: int,
    ) -> None: ...
    def get(self, index: int) -> bytes | None: ...
    def put(
        self, index: int, sample: bytes | bytearray | memoryview
    ) -> None: ...
    def count_miss(self) -> None: ...
    def __contains__(self, index: int) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def samples(self) -> int: ...
    def counters(self) -> CacheCounters: ...
    @property
    def path(self) -> str: ...
    def take_warnings(self) -> list[str]: ...
    def before(self, dataset: Dataset, peers: str) -> Dataset: ...

class Stream:
    def __init__(
        self,
        dataset: Dataset,
        *,
        batch_size: int,
        crop: int,
        augment: Literal["random", "centre"],
        seed: int,
        shuffle: bool,
        ranks: int,
        rank: int,
        drop_tail: bool,
        broken_fatal: bool,
        ordered: bool,
        direct: bool,
        pinned: bool,
        ring: int,
        memory_bytes: int,
        threads: int,
        position: Position | None,
    ) -> None: ...
    def next(
        self,
    ) -> (
        tuple[
            NDArray[np.float32],
            NDArray[np.int64],
            NDArray[np.int64],
            int,
            bool,
            bool,
        ]
        | None
    ): ...
    def end_step(self) -> None: ...
    def state(self) -> Position: ...
    @property
    def samples_per_epoch(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    def counters(self) -> Counters: ...
    def share_counters(self) -> ShareCounters: ...
    def pin_refusal(self) -> str: ...
    def take_broken(self) -> list[str]: ...
    def close(self) -> None: ...

def join_share(
    dataset: Dataset,
    *,
    name: str,
    batch_size: int,
    crop: int,
    augment: Literal["random", "centre"],
    seed: int,
    shuffle: bool,
    jobs: int,
    window: int,
    broken_fatal: bool,
    direct: bool,
    threads: int,
) -> Stream: ...

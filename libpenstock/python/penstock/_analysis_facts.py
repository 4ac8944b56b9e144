"""The facts that a rank reports at the start of its analysis."""

import os
import socket
import sys
from typing import Any

from penstock._analysis_feed import Feed
from penstock._analysis_files import held_files, sample_files
from penstock._analysis_storage import cache_bytes, filesystem, why_not_cold
from penstock._batch import batch_samples

_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
_MAX_STATS = 256


def facts_of(loader: Any, feed: Feed, first: Any) -> dict[str, Any]:
    """Returns the fields of the hello. first: the first batch, or None without
    a batch."""
    rank, ranks = torch_rank() or rank_of(os.environ)
    file = _data_file(loader, feed)
    dataset = getattr(loader, "dataset", None)
    count = _length(dataset)
    why = feed.only_replays or "no file that the loader reads is known"
    if file and not feed.only_replays:
        why = why_not_cold(file)
    return {
        "rank": rank,
        "ranks": ranks,
        "node": os.environ.get("SLURMD_NODENAME") or socket.gethostname(),
        "source": "python watch",
        "batch_samples": batch_samples(first, loader),
        "workers": getattr(loader, "num_workers", None),
        "dataset_samples": count,
        "dataset_bytes": _dataset_bytes(dataset, count),
        "cache_bytes": cache_bytes(),
        "cpus": cpus_of(os.environ, len(os.sched_getaffinity(0))),
        "can": {
            "memory": not feed.only_replays,
            "cold": "" if why else "fadvise",
            "why": why,
        },
        "filesystem": filesystem(file) if file else "",
    }


def torch_rank() -> tuple[int, int] | None:
    """Returns the rank and size of the process group, which the environment may
    lack."""
    group = sys.modules.get("torch.distributed")
    if group is None or not group.is_available():
        return None
    if not group.is_initialized():
        return None
    return group.get_rank(), group.get_world_size()


def rank_of(environment: Any) -> tuple[int, int]:
    for names in _RANKS:
        rank, ranks = (environment.get(name, "") for name in names)
        if rank.isdigit() and ranks.isdigit() and int(rank) < int(ranks):
            return int(rank), int(ranks)
    return 0, 1


def cpus_of(environment: Any, allowed: int) -> int:
    """Returns this process's share of the CPUs that it may run on.

    torchrun's processes share their CPUs. Not every Slurm binds tasks to the
    CPUs that they requested."""
    each = environment.get("SLURM_CPUS_PER_TASK", "")
    if each.isdigit() and 0 < int(each) < allowed:
        allowed = int(each)
    if "TORCHELASTIC_RUN_ID" not in environment:
        return allowed
    ranks = environment.get("LOCAL_WORLD_SIZE", "")
    return max(1, allowed // (int(ranks) if ranks.isdigit() else 1))


def _data_file(loader: Any, feed: Feed) -> str | None:
    """Returns one file that the samples come from."""
    held: set[str] = set()
    for pid in feed.pids() or ["self"]:
        held |= held_files(pid)
    find = sample_files(getattr(loader, "dataset", None))
    listed = [find(0)] if find else []
    for path in (*feed.notes.paths(), *listed, *sorted(held)):
        if path and os.path.isfile(path):
            return path
    return None


def _length(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:  # raised by the dataset's own code
        return None


def _dataset_bytes(dataset: Any, count: int | None) -> float | None:
    """Estimates the data set's bytes from the sizes of some of its files."""
    find = sample_files(dataset)
    if find is None or not count:
        return None
    step = max(1, count // _MAX_STATS)
    indices = range(0, count, step)[:_MAX_STATS]
    try:
        sizes = [os.stat(find(index)).st_size for index in indices]
    except (OSError, TypeError):
        return None
    return sum(sizes) / len(sizes) * count

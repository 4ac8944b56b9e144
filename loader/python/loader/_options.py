"""Checks a Loader's options."""

import operator
import os
import sys
from typing import Literal


def integer(name: str, value: int) -> int:
    """Converts any integer type, including NumPy's."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={value!r}: has to be an integer") from None


def natural(name: str, value: int) -> int:
    value = integer(name, value)
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{name}={value}: allowed: 0 to 2^64 - 1")
    return value


def own_rank(
    rank: int | Literal["slurm"] | None, ranks: int | None
) -> tuple[int, int]:
    if rank == "slurm":
        try:
            return int(os.environ["SLURM_PROCID"]), int(
                os.environ["SLURM_NTASKS"]
            )
        except (KeyError, ValueError):
            raise ValueError(
                'rank="slurm" needs SLURM_PROCID and SLURM_NTASKS, as srun '
                "sets"
            ) from None
    if rank is None and ranks is None:
        group = sys.modules.get("torch.distributed")
        if group and group.is_available() and group.is_initialized():
            return group.get_rank(), group.get_world_size()
        return 0, 1
    if rank is None or ranks is None:
        raise ValueError("rank and ranks: give both of them or none")
    return natural("rank", rank), natural("ranks", ranks)


def check_choices(
    augment: str, broken: str, threads: int | None, memory: int | None
) -> None:
    if broken not in ("skip", "fatal"):
        raise ValueError(f"broken={broken!r}: allowed: 'skip', 'fatal'")
    if augment not in ("random", "centre"):
        raise ValueError(
            f"augment={augment!r}: allowed: 'random', 'centre'"
        )
    if threads is not None and threads < 1:
        raise ValueError(f"threads={threads}: allowed: 1 to 4096, or None")
    if memory is not None and memory < 1:
        raise ValueError(f"memory={memory}: allowed: 1 or more, or None")

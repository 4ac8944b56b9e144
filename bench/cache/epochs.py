"""Epochs of the compared loaders, with their times and the bytes read from
storage."""

import dataclasses
import itertools
import json
import os
import tempfile

from bench import ROOT
from bench.program import run

RUN_LIMIT_S = 600
PYTHON = "/usr/bin/python3"
WORKERS = 2
THREADS = 4  # of Penstock; a thread that waits for storage takes no CPU


@dataclasses.dataclass(frozen=True)
class Epoch:
    seconds: float
    read_bytes: int  # counted by the device
    samples: int
    hits: int = 0    # counted by Penstock's library


class Penstock:
    """Runs penstock-train with one process per epoch, so that no epoch reads
    ahead into the next."""

    def __init__(self, build, pool, environment):
        self._program = build / "bin" / "penstock-train"
        self._pool = pool
        self._environment = {**os.environ, **environment}
        self._seeds = itertools.count(1)

    def epoch(self, group, *words):
        """words: penstock-train's options for the source of samples."""
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            before = self._pool.bytes_read()
            run_in(group, self._environment, self._program, "--data",
                   self._pool.mountpoint / "jpeg", "--threads", THREADS,
                   "--seed", next(self._seeds), "--json", out.name, *words)
            read = self._pool.bytes_read() - before
            found = json.load(out)
        return Epoch(found["seconds"], read, found["samples"], found["cached"])


def pytorch(pool, group, epochs):
    """Runs a DataLoader's epochs in one process with persistent workers."""
    device = pool.mountpoint.stat().st_dev
    done = run_in(
        group, dict(os.environ, OMP_NUM_THREADS="1"), PYTHON, "-B", "-m",
        "bench.cache.torch_epochs", pool.mountpoint / "jpeg", WORKERS, epochs,
        f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")
    return [Epoch(**json.loads(line)) for line in done.splitlines()]


def run_in(group, environment, *command):
    return run(*command, env=environment, cwd=ROOT, timeout=RUN_LIMIT_S,
               preexec_fn=group.enter)

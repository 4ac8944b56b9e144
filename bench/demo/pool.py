"""The emulated storage pool: an ext4 with a real bandwidth limit.

    image file <- nbdkit (rate filter) <- nbdfuse <- loop device <- ext4

The limit is below the block layer, in its own process. So it holds for every
reader, in every cgroup, with or without Penstock. (Limits of blkio cgroups are
unsuitable: they are per group and not hierarchical.) The loop device reads with
O_DIRECT. So only the ext4's page cache keeps data, as on a real disk.

Pool is the caller's side. A keeper (pool_keeper.py) makes and removes all
resources; that process ends with its caller in any case.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

from bench import ROOT
from bench.program import BenchError, run

CLOSE_TIMEOUT_S = 120
SECTOR_BYTES = 512  # of /sys/block/*/stat, for any device


@dataclasses.dataclass(frozen=True)
class Proof:
    """fio's read rates from the pool, in bytes/s."""
    direct: float
    buffered: float  # cold: after dropping the page cache
    in_cgroup: float  # direct, from a separate cgroup

    def holds(self, bandwidth_bytes_per_s, tolerance=0.05):
        return all(abs(value / bandwidth_bytes_per_s - 1) <= tolerance
                   for value in (self.direct, self.buffered, self.in_cgroup))


class Pool:
    """A mounted pool, read-only, from `with` to its end.

    image: an ext4 image with the data; not modified. read_delay_ms: minimum
    time of each request."""

    def __init__(self, image, bandwidth_bytes_per_s, read_delay_ms=0):
        self.bandwidth_bytes_per_s = bandwidth_bytes_per_s
        self._read_delay_ms = read_delay_ms
        self.mountpoint = None
        self._groups = []  # cgroups for a reader, made by the keeper
        self._image = image
        self._keeper = None

    def __enter__(self):
        self._keeper = subprocess.Popen(
            [sys.executable, "-B", "-m", "bench.demo.pool_keeper",
             str(self._image), str(int(self.bandwidth_bytes_per_s)),
             str(self._read_delay_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=ROOT, start_new_session=True)
        try:
            answer = json.loads(self._keeper.stdout.readline() or "{}")
            if "mountpoint" not in answer:
                raise BenchError(answer.get("error", "the keeper has ended"))
            self.mountpoint = pathlib.Path(answer["mountpoint"])
            self._groups = answer["groups"]
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        """Removes the pool; may be called more than once."""
        if self._keeper is None:
            return
        keeper, self._keeper = self._keeper, None
        keeper.stdin.close()
        keeper.stdout.close()
        if keeper.wait(CLOSE_TIMEOUT_S) != 0:
            raise BenchError("the pool could not be removed")

    def bytes_read(self):
        """Returns the bytes read from the pool's device by all processes."""
        device = self.mountpoint.stat().st_dev
        stat = pathlib.Path(f"/sys/dev/block/{os.major(device)}:"
                            f"{os.minor(device)}/stat").read_text("ascii")
        return int(stat.split()[2]) * SECTOR_BYTES

    def prove(self, file_name, seconds=4):
        """Measures the capacity by fio on a file of the pool."""
        path = str(self.mountpoint / file_name)
        drop_page_cache()
        return Proof(
            direct=fio_read(path, ["--direct=1"], seconds),
            buffered=fio_read(path, ["--direct=0", "--invalidate=1"], seconds),
            in_cgroup=fio_read(path, ["--direct=1"], seconds,
                               self._groups))


def drop_page_cache():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", "ascii")


def fio_read(path, options, seconds, groups=()):
    """Returns the bytes/s of sequential 1 MiB reads by a process of the
    cgroups."""
    size = os.path.getsize(path)
    argv = ["fio", "--name=pool", f"--filename={path}", "--readonly",
            "--thread", "--rw=read", "--bs=1M", f"--runtime={seconds}",
            f"--size={size}", "--output-format=json", *options]
    if "--direct=1" in options:
        # No cache serves a second pass; the first second has the full bucket.
        argv += ["--time_based", "--ramp_time=1"]
    enter = "".join(f"echo 0 >{group}/cgroup.procs && " for group in groups)
    found = run("/bin/sh", "-c", enter + 'exec "$@"', "sh", *argv, timeout=120)
    return float(json.loads(found)["jobs"][0]["read"]["bw_bytes"])

"""Limits a running job's CPU and storage bandwidth by the benchmark's own
control groups. The predictor must not enforce the limits against which it is
tested."""

import contextlib
import os
import pathlib

import hierarchy

from bench.program import BenchError


PERIOD_US = 100_000


class HeldJob:
    """Applies from `with` to its end. The job must have ended by then. device:
    a path on the storage with limited bandwidth."""

    def __init__(self, cluster, job, path):
        name = f"penstock_{cluster.node}_bench"
        self._cpu = pathlib.Path(hierarchy.ROOT, "cpu", name)
        self._blkio = pathlib.Path(hierarchy.ROOT, "blkio", name)
        device = os.stat(path).st_dev
        self._device = f"{os.major(device)}:{os.minor(device)}"
        self._cluster, self._job = cluster, job

    def __enter__(self):
        try:
            self._enter()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *unused):
        self._remove()

    def _enter(self):
        for group in (self._cpu, self._blkio):
            group.mkdir()
        (self._cpu / "cpu.cfs_period_us").write_text(str(PERIOD_US), "ascii")
        # Repeats until no process is outside, because a process may start
        # another.
        while self._enter_all():
            pass

    def _remove(self):
        """Removes the groups. A group with processes is removed with the
        cluster."""
        for group in (self._cpu, self._blkio):
            with contextlib.suppress(OSError):
                group.rmdir()

    def _enter_all(self):
        """Moves the processes that are outside; returns their number."""
        inside = set((self._cpu / "cgroup.procs").read_text("ascii").split())
        directory = hierarchy.job_dir(self._cluster.node, self._job)
        if directory is None:
            raise BenchError(f"job {self._job} has ended: "
                             + self._cluster.output(self._job))
        outside = [pid for path in pathlib.Path(directory).rglob("cgroup.procs")
                   for pid in path.read_text("ascii").split()
                   if pid not in inside]
        for pid in outside:
            for group in (self._cpu, self._blkio):
                hierarchy.write(group / "cgroup.procs", pid)
        return len(outside)

    def hold_cores(self, cores):
        quota = int(cores * PERIOD_US)
        (self._cpu / "cpu.cfs_quota_us").write_text(str(quota), "ascii")

    def hold_bandwidth(self, bytes_per_s):
        (self._blkio / "blkio.throttle.read_bps_device").write_text(
            f"{self._device} {int(bytes_per_s)}", "ascii")

"""Usage of the machine in an interval, from the kernel's counters."""

import dataclasses
import os
import pathlib
import platform
import time

CPUACCT = pathlib.Path("/sys/fs/cgroup/cpuacct")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    t_s: float        # CLOCK_MONOTONIC, as in the jobs' logs
    all_cpu_s: float  # CPU time of the whole machine
    job_cpu_s: float  # of the cluster's jobs
    steal_s: float    # taken by the hypervisor, all CPUs together


@dataclasses.dataclass(frozen=True)
class Usage:
    """Averages over an interval, in CPUs."""
    jobs: float
    background: float  # everything except the jobs
    steal: float


def usage_s(group):
    """Returns the CPU time of a cpuacct group and its descendants; 0 if
    missing."""
    try:
        return int((group / "cpuacct.usage").read_text("ascii")) / 1e9
    except FileNotFoundError:
        return 0.0


def steal_s(stat_text):
    """Returns the stolen time of all CPUs, from the text of /proc/stat."""
    fields = stat_text.splitlines()[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def snapshot(node):
    """node: the cluster's; its jobs are in cpuacct/slurm_<node>."""
    return Snapshot(time.monotonic(), usage_s(CPUACCT),
                    usage_s(CPUACCT / f"slurm_{node}"),
                    steal_s(pathlib.Path("/proc/stat").read_text("ascii")))


def usage(before, after):
    seconds = after.t_s - before.t_s
    jobs = (after.job_cpu_s - before.job_cpu_s) / seconds
    everything = (after.all_cpu_s - before.all_cpu_s) / seconds
    return Usage(jobs, max(0.0, everything - jobs),
                 (after.steal_s - before.steal_s) / seconds)


def describe():
    """Describes the machine, for the JSON."""
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {"cpus": os.cpu_count(), "cpu_model": model,
            "kernel": platform.release(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE")
            * os.sysconf("SC_PHYS_PAGES"),
            "emulated": ["accelerator: a timed wait per step",
                         "pool: its bandwidth is limited by nbdkit"]}

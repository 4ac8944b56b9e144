"""One run of the demo on its cluster: regimes, jobs, steady intervals."""

import dataclasses
import json
import os
import pathlib
import pwd
import shutil
import time

import slurm_files

from bench.demo import job_log, machine, mix
from bench.program import BenchError

JOB_START_TIMEOUT_S = 60
REPORT_TIMEOUT_S = 10
MANAGED = "--loader=auto"  # the flag of a job under Penstock
OBSERVE = "observe"        # the regime of Mode=observe
POLICY = {"even": "even", "penstock": "throughput", OBSERVE: "throughput"}


@dataclasses.dataclass(frozen=True)
class Job:
    id: int
    kind: object         # mix.Kind
    log: pathlib.Path


@dataclasses.dataclass(frozen=True)
class Steady:
    """A steady interval: samples/s of each job, the machine, the jobs."""
    rates: tuple
    usage: machine.Usage
    jobs: tuple


@dataclasses.dataclass(frozen=True)
class Order:
    """A job to run: a kind with its figures."""
    kind: object
    accelerator_s: float
    profile: str = ""        # --loader-model, in the managed regimes
    cpus: int = 1
    threads: int | None = None  # of the loader; None: as the program chooses
    arguments: tuple = ()    # further options of the program


class Session:
    """Owns the cluster's current regime. Not thread-safe.

    pool is mounted and has the folders jpeg/ and raw/. lines: further ones of
    penstock.conf."""

    def __init__(self, cluster, pool, progress, lines=()):
        self.cluster = cluster
        self.progress = progress
        self.regime = None
        self.statuses = []  # penstockd's final states, one per Penstock run
        self.pool = pool
        self._lines = lines
        self._count = 0
        self._stage()

    def _stage(self):
        """Copies the jobs' executables to a place readable by an ordinary user:
        the clone may be in /root."""
        target = pathlib.Path(self.cluster.directory)
        build, here = self.cluster.build, pathlib.Path(__file__).parent
        copies = []
        for path in (build / "lib/spank_penstock.so",
                     build / "bin/penstock-train", here / "train_pytorch.py"):
            copy = target / "staged" / path.name
            copy.parent.mkdir(mode=0o755, exist_ok=True)
            shutil.copy(path, copy)
            copies.append(copy)
        self._plugin, train, script = copies
        self._programs = {mix.TRAIN: [train],
                          mix.PYTORCH: ["/usr/bin/python3", script]}
        # plugstack.conf names the hook in it.
        shutil.copytree(here.parents[1] / "libpenstock" / "python",
                        target / "bin" / "python")

    # -- regimes --------------------------------------------------------------

    def enter(self, regime):
        """Switches the cluster to a regime; no job may be running."""
        if regime == self.regime:
            return
        self.leave()
        slurm_files.write_plugstack(
            self.cluster.directory,
            [self._plugin] if regime in POLICY else [], ())
        if regime in POLICY:
            rate = int(self.pool.bandwidth_bytes_per_s)
            self.cluster.start_agent(
                policy=POLICY[regime],
                pools=[("pool", self.pool.mountpoint, str(rate))],
                lines=[f"ManagedCPUs=0-{self.cluster.cpus - 1}", *self._lines,
                       *["Mode=observe"] * (regime == OBSERVE)])
        self.regime = regime

    def leave(self):
        self.cluster.wait_empty()
        if self.regime in POLICY:
            if self.regime == "penstock":
                self.statuses.append(self.cluster.status())
            self.cluster.stop_agent()
        self.regime = None

    def set_plugin(self, there):
        """Adds or removes the plugin, for paired launches inside one regime."""
        slurm_files.write_plugstack(self.cluster.directory,
                                    [self._plugin] if there else [], ())

    # -- jobs -----------------------------------------------------------------

    def user_file(self, name, text=""):
        """Makes a file that belongs to the jobs' user; returns its path."""
        path = pathlib.Path(self.cluster.home()) / name
        path.write_text(text, "utf-8")
        entry = pwd.getpwnam(self.cluster.user)
        os.chown(path, entry.pw_uid, entry.pw_gid)
        return path

    def submit(self, order):
        self._count += 1
        kind = order.kind
        log = pathlib.Path(self.cluster.home(),
                           f"{kind.name}-{self._count}.log")
        command = [*self._programs[kind.program],
                   "--data", self.pool.mountpoint / kind.format,
                   "--batch", kind.batch,
                   "--accelerator-s-per-sample", f"{order.accelerator_s:.9f}",
                   "--seed", self._count, "--log", log,
                   *kind.threads_option(order.threads),
                   *["--direct"] * kind.direct, *order.arguments]
        flags = [f"--job-name={kind.name}"]
        if self.regime in POLICY:
            flags += [MANAGED]
            flags += [f"--loader-model={order.profile}"] * bool(order.profile)
        job_id = self.cluster.sbatch(command, cpus=order.cpus, flags=flags)
        return Job(job_id, kind, log)

    def wait_training(self, jobs):
        """Waits until every job has trained on a sample."""
        deadline = time.monotonic() + JOB_START_TIMEOUT_S
        waiting = list(jobs)
        while waiting:
            waiting = [job for job in waiting if not any(
                line.samples > 0 for line in job_log.read(job.log))]
            for job in waiting:
                self.check_alive(job)
            if waiting and time.monotonic() > deadline:
                raise BenchError(f"job {waiting[0].id} "
                                 f"({waiting[0].kind.name}) does not train: "
                                 + self.cluster.output(waiting[0].id))
            time.sleep(0.1)

    def check_alive(self, job):
        state = self.cluster.job(job.id).get("JobState", "unknown")
        if state not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING"):
            raise BenchError(f"job {job.id} ({job.kind.name}) is {state}: "
                             + self.cluster.output(job.id))

    def run_to_end(self, order, timeout_s):
        """Runs one job alone; returns the Job."""
        job = self.submit(order)
        self.cluster.wait_job(job.id, timeout=timeout_s)
        return job

    def steady(self, orders, settle_s, seconds, what):
        """Runs the jobs at once and measures an interval in which all train.
        The rates exclude the interval's first second."""
        whole_s = settle_s + seconds
        jobs = [self.submit(dataclasses.replace(
            order, arguments=(*order.arguments, "--duration",
                              f"{whole_s + JOB_START_TIMEOUT_S:.0f}")))
                for order in orders]
        self.wait_training(jobs)
        self.progress.wait(settle_s, f"{what}: settling")
        before = machine.snapshot(self.cluster.node)
        self.progress.wait(seconds, f"{what}: measuring")
        after = machine.snapshot(self.cluster.node)
        for job in jobs:
            self.check_alive(job)
        rates = tuple(job_log.rate(job_log.read(job.log), before.t_s + 1,
                                   after.t_s) for job in jobs)
        self.cluster.cancel(*[str(job.id) for job in jobs])
        self.cluster.wait_empty()
        if None in rates:
            raise BenchError(f"{what}: a job has logged too little: {rates}")
        return Steady(rates, machine.usage(before, after), tuple(jobs))

    # -- reports --------------------------------------------------------------

    def report(self, job):
        """Returns the ended job's allocation report; None under stock."""
        return self.finished_report(job.id) if self.regime in POLICY else None

    def finished_report(self, job_id):
        """Returns the report of any ended job of the current managed regime."""
        path = self.report_path(job_id)
        deadline = time.monotonic() + REPORT_TIMEOUT_S
        while not path.exists():
            if time.monotonic() > deadline:
                raise BenchError(f"job {job_id} has no report at {path}"
                                 + self.cluster.logs("penstockd"))
            time.sleep(0.05)
        return json.loads(path.read_text("utf-8"))

    @property
    def report_dir(self):
        return pathlib.Path(self.cluster.directory, "reports")

    def report_path(self, job_id, suffix=".json"):
        return self.report_dir / str(job_id) / f"{self.cluster.node}{suffix}"

"""Real runs under plain Slurm, and the analysis of the same job."""

import contextlib
import json
import time

from bench.analyze.held import HeldJob
from bench.demo import job_log
from bench.demo.lab import CPUS
from bench.demo.logged_jobs import LoggedJobs
from bench.program import BenchError

LONG_S = 3600
SETTLE_S = 3  # longer than a full queue of batches lasts
SLICES_S = (5, 30)
STEPS = 20  # target number per interval


class Runner:
    """Runs jobs of an ordinary user on an embedded cluster. Not thread-safe."""

    def __init__(self, session, penstock):
        self.session = session
        self.cluster = session.cluster
        self.progress = session.progress
        self.penstock = penstock
        self._jobs = LoggedJobs(session.cluster)

    # -- real runs --------------------------------------------------------------

    def running(self, line, flags=()):
        """As LoggedJobs.running(), with all of the node's CPUs."""
        return self._jobs.running([*line, "--duration", LONG_S], CPUS, flags)

    def rate(self, log, work, what, epochs=0):
        """Returns the samples/s of a job after a change of its limits, over at
        least this number of epochs."""
        least = max(STEPS * work.batch, epochs * len(work.samples()))
        self.progress.wait(SETTLE_S, f"{what}: settling")
        begin_s = time.monotonic()
        self.progress.wait(SLICES_S[0], f"{what}: measuring")
        while True:
            lines = job_log.read(log)
            rate = job_log.rate(lines, begin_s, time.monotonic())
            spent_s = time.monotonic() - begin_s
            if spent_s >= SLICES_S[1] or (rate and rate * spent_s >= least):
                break
            self.progress.wait(1, f"{what}: measuring")
        if not rate:
            raise BenchError(f"{what}: too little in {log}")
        return rate

    def rates_at(self, line, work, held_to, amounts, what, epochs=0):
        """Returns {amount: samples/s} of one job under each limit in turn.
        held_to(held, amount) applies the amount to a HeldJob."""
        found = {}
        with contextlib.ExitStack() as stack:
            # Its groups are removed after the job has ended.
            held_stack = stack.enter_context(contextlib.ExitStack())
            job, log = stack.enter_context(self.running(line))
            held = held_stack.enter_context(
                HeldJob(self.cluster, job, work.folder))
            for amount in amounts:
                held_to(held, amount)
                found[amount] = self.rate(log, work, f"{what} {amount:.4g}",
                                          epochs)
        return found

    # -- what Penstock says -------------------------------------------------------

    def analyze(self, work, line, amounts, budget_s):
        """Returns (findings, profile file, seconds), as an ordinary user gets
        them."""
        profile = self._jobs.path(f"{work.name}.toml")
        begin_s = time.monotonic()
        done = self.cluster.command(
            self.penstock, "analyze", "--json", "--save", profile, "--budget",
            f"{budget_s}s", "--cores", ",".join(f"{it:g}" for it in amounts),
            "-n1", f"-c{CPUS}", "--gres=gpu:1", "--", *line, "--duration",
            LONG_S, user=self.cluster.user, timeout=budget_s + 120)
        if done.returncode != 0:
            raise BenchError(f"penstock analyze: {done.stderr.strip()}")
        return (json.loads(done.stdout), profile,
                time.monotonic() - begin_s)

    def what_if(self, profile, of, amounts, *more):
        """Returns the samples/s at each of the amounts, which are strings."""
        done = self.cluster.command(
            self.penstock, "what-if", profile, "--json", f"--{of}",
            ",".join(amounts), *more)
        if done.returncode != 0:
            raise BenchError(f"penstock what-if: {done.stderr.strip()}")
        # Only one option has several amounts, so there is one table.
        table, = json.loads(done.stdout)["tables"]
        return [row["samples_per_s"]["value"] for row in table["rows"]]

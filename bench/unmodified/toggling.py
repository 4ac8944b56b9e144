"""A starved PyTorch script with four workers, beside a lender that computes for
5 s and pauses for 5 s, by turns."""

import contextlib
import dataclasses
import statistics

from bench.demo import job_log, machine, optimum
from bench.demo.mix import MIB
from bench.demo.session import MANAGED
from bench.program import BenchError

WORKERS = 4
BATCH = 16
SHARE_OF_CEILING = 0.25  # the rate of one CPU
PHASE_MS = 5000
BUSY = (1000, 0)  # ms of computing and of pause
TOGGLING = (PHASE_MS, PHASE_MS)
SETTLE_S = 12
START_S = 3    # of a job, in which its rate is not yet steady
STEADY_S = 18
PERIODS = 5
LIMIT_S = 180  # for these periods; phases have a fixed CPU time
LONG_S = 3600


@dataclasses.dataclass(frozen=True)
class Rates:
    """Work per second of the two jobs beside each other."""
    borrower: float
    lender: float
    background: float = 0  # CPUs used by everything else


def steps(lines):
    """Returns the lines at which the lender has finished a phase of
    computing."""
    return [now for before, now in zip(lines, lines[1:])
            if now.samples > before.samples]


def samples_at(lines, time_s):
    """Interpolates between the lines next to the time."""
    for before, after in zip(lines, lines[1:]):
        if before.t_s <= time_s <= after.t_s and after.t_s > before.t_s:
            part = (time_s - before.t_s) / (after.t_s - before.t_s)
            return before.samples + part * (after.samples - before.samples)
    raise BenchError("the log does not cover the interval")


def rates_over(borrower, ends):
    """Returns Rates over whole periods. borrower: its log; ends: the lender's
    lines at the first and the last end of a phase."""
    begin_s, end_s = (line.t_s for line in ends)
    spent_s = end_s - begin_s
    return Rates((samples_at(borrower, end_s) - samples_at(borrower, begin_s))
                 / spent_s,
                 (ends[1].samples - ends[0].samples) / spent_s)


def optimal_share(program, cores, rates, ceiling, lender_computes):
    """Returns the largest possible rate of the borrower on these cores, as a
    share of its ceiling, if the lender loses nothing. rates: with one CPU, and
    with two."""
    rate_one, rate_all = rates

    def job(number, floor, most, curve):
        return {"id": number, "weight": 1, "floor": floor, "ceiling": most,
                "cores_curve": curve, "bytes_per_rate": 0, "pool": 0}

    lenders = 1 if lender_computes else 0
    jobs = [job(1, min(1, cores - lenders) * rate_one, ceiling,
                optimum.cores_curve(1 / rate_one, 2 / rate_all, 2))]
    if lender_computes:
        jobs.append(job(2, 1, 1, [{"rate": 1, "cores": 1}]))
    return optimum.solve(program, {"cores": cores, "pools": [MIB],
                                   "jobs": jobs}) - lenders


class Toggling:
    """script: the borrower's command, without its options."""

    def __init__(self, session, jobs, script, busy, build):
        self._session = session
        self._jobs = jobs
        self._script = [*script, "--data", session.pool.mountpoint / "jpeg",
                        "--batch", BATCH, "--workers", WORKERS,
                        "--duration", LONG_S]
        self._busy = [busy, "--workers", "1", "--processes", "--seconds",
                      LONG_S]
        self._optimum = build / "bin" / "penstock-optimum"

    def _lender(self, phases):
        on_ms, off_ms = phases
        flags = [MANAGED] if self._session.regime == "penstock" else []
        return self._jobs.running(
            [*self._busy, "--on", on_ms, "--off", off_ms], 1, flags)

    def _borrower(self, accelerator_s, cpus=1):
        flags = [MANAGED, "--loader-elastic=exact"] \
            if self._session.regime == "penstock" else []
        return self._jobs.running(
            [*self._script, "--accelerator-s-per-sample",
             f"{accelerator_s:.9f}"], cpus, flags)

    def _steady(self, what, *, cpus, accelerator_s=0):
        """Returns the borrower's rate under plain Slurm: with one CPU beside a
        job that computes, or alone with two."""
        self._session.enter("stock")
        with contextlib.ExitStack() as stack:
            if cpus == 1:
                stack.enter_context(self._lender(BUSY))
            _, log = stack.enter_context(self._borrower(accelerator_s, cpus))
            self._session.progress.wait(STEADY_S, f"{what}: measuring")
            lines = job_log.read(log)
            return job_log.rate(lines, lines[0].t_s + START_S, lines[-1].t_s)

    def _toggled(self, regime, accelerator_s):
        session = self._session
        session.enter(regime)
        with self._lender(TOGGLING) as (_, lender_log), \
                self._borrower(accelerator_s) as (_, log):
            session.progress.wait(SETTLE_S, f"{regime}: settling")
            before = machine.snapshot(session.cluster.node)
            ends = self._phases(lender_log, f"{regime}: measuring")
            after = machine.snapshot(session.cluster.node)
            session.progress.wait(1, f"{regime}: measuring")
            return dataclasses.replace(
                rates_over(job_log.read(log), (ends[0], ends[-1])),
                background=machine.usage(before, after).background)

    def _phases(self, log, what):
        """Waits until the lender has finished PERIODS more phases; returns the
        lines at their ends, and one before."""
        seen = len(steps(job_log.read(log)))
        for _ in range(LIMIT_S):
            ends = steps(job_log.read(log))[seen:]
            if len(ends) > PERIODS:
                return ends[:PERIODS + 1]
            self._session.progress.wait(1, what)
        raise BenchError(f"the lender had {len(ends)} phases in {LIMIT_S} s")

    def round(self, number):
        """Returns {figure: value}."""
        rate_one = self._steady("beside a job that computes", cpus=1)
        accelerator_s = SHARE_OF_CEILING / rate_one
        rate_all = self._steady("alone on two CPUs", cpus=2,
                                accelerator_s=accelerator_s)
        regimes = ("stock", "penstock")[::1 if number % 2 else -1]
        rates = {regime: self._toggled(regime, accelerator_s)
                 for regime in regimes}
        ceiling = 1 / accelerator_s
        # As in the demo, what Penstock's daemons use counts against it.
        cores = 2 - rates["stock"].background
        best = ceiling * statistics.mean(
            optimal_share(self._optimum, cores, (rate_one, rate_all), ceiling,
                          computes) for computes in (True, False))
        self._session.progress.say(
            f"  one CPU {rate_one:.1f} samples/s, two {rate_all:.1f}; beside "
            f"the lender: stock {rates['stock'].borrower:.1f}, Penstock "
            f"{rates['penstock'].borrower:.1f}, optimum {best:.1f}")
        return {"toggled_ratio_to_optimum": rates["penstock"].borrower / best,
                "toggled_gain": rates["penstock"].borrower
                / rates["stock"].borrower,
                "toggling_lender_ratio": rates["penstock"].lender
                / rates["stock"].lender}

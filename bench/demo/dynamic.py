"""Runs the schedule under each regime. Jobs arrive and end at different times,
and more jobs than slots arrive."""

import dataclasses
import shutil
import time

from bench.demo import job_log, mix
from bench.demo.sets import regime_order
from bench.program import BenchError

TIMEOUT_S = 900


@dataclasses.dataclass(frozen=True)
class DynamicRun:
    regime: str
    makespan_s: float  # from the first submission to the last end
    rates: tuple       # samples/s of each job while it ran, by arrival
    changes: tuple     # grant changes of each job; empty under stock
    reports: tuple     # paths of the copies


def measure(session, demo_mix, costs, rounds, report_directory):
    runs = []
    for round_index in range(rounds):
        for regime in regime_order(round_index):
            session.progress.phase(f"round {round_index + 1} of {rounds}: the "
                                   f"schedule under {regime}")
            session.enter(regime)
            runs.append(run_schedule(session, demo_mix, costs,
                                     report_directory))
    return runs


def run_schedule(session, demo_mix, costs, report_directory):
    jobs, wanted = [], []
    begin_s = time.monotonic()
    for arrival in demo_mix.schedule:
        wait_s = begin_s + arrival.arrive_s - time.monotonic()
        session.progress.wait(max(0.0, wait_s),
                              f"{len(jobs)} jobs submitted")
        cost = costs[arrival.kind.name]
        samples = mix.samples_of(arrival, cost.accelerator_s)
        wanted.append(samples)
        jobs.append(session.submit(dataclasses.replace(
            cost.order(), arguments=("--samples", str(samples)))))
    wait_all(session, jobs, begin_s)
    makespan_s = time.monotonic() - begin_s
    for job, order_samples in zip(jobs, wanted, strict=True):
        session.cluster.wait_job(job.id, timeout=10)  # no job has failed
        done = job_log.read(job.log)[-1].samples
        if done < order_samples:
            raise BenchError(f"job {job.id} ({job.kind.name}) ended after "
                             f"{done:.0f} of {order_samples} samples")
    reports = [session.report(job) for job in jobs]
    return DynamicRun(
        session.regime, makespan_s, tuple(overall_rate(job) for job in jobs),
        tuple(len(report["changes"]) for report in reports if report),
        tuple(keep_report(session, job, report_directory) for job in jobs)
        if session.regime == "penstock" else ())


def wait_all(session, jobs, begin_s):
    while session.cluster.squeue():
        elapsed_s = time.monotonic() - begin_s
        if elapsed_s > TIMEOUT_S:
            for job in jobs:
                session.check_alive(job)
            raise TimeoutError(f"the schedule takes over {TIMEOUT_S} s")
        running = sum(1 for one in session.cluster.squeue()
                      if one["state"] == "RUNNING")
        session.progress.live(f"{elapsed_s:.0f} s: {running} jobs run")
        time.sleep(0.2)


def overall_rate(job):
    lines = [line for line in job_log.read(job.log) if line.samples > 0]
    if len(lines) < 2:
        return None
    return ((lines[-1].samples - lines[0].samples)
            / (lines[-1].t_s - lines[0].t_s))


def keep_report(session, job, directory):
    """Copies a report from the cluster's directory, which is removed later."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{job.id}-{job.kind.name}.txt"
    shutil.copyfile(session.report_path(job.id, ".txt"), path)
    return path

"""python3 -m bench.observe, run by `penstock bench observe`. Runs the demo's
sets of jobs under Mode=observe and Mode=on by turns, and compares what the
reports say that lending would have gained with what it gains. Prints figures as
JSON, and its progress on standard error."""

import sys

from bench import script
from bench.demo import calibrate, data, lab
from bench.demo.session import OBSERVE
from bench.observe import savings
from bench.program import BenchError
from bench.script import figure

SETTLE_S = 12  # predictions are corrected within 10 s
MEASURE_S = 20


def run_set(session, orders, regime, what):
    """Returns ([samples/s], [report]) of the jobs."""
    session.enter(regime)
    steady = session.steady(orders, SETTLE_S, MEASURE_S, f"{regime}: {what}")
    return steady.rates, [session.report(job) for job in steady.jobs]


def compare(session, orders, rounds, what):
    """Returns a savings.Saving for each of the jobs."""
    observed, acted, reports = [], [], []
    for number in range(rounds):
        regimes = (OBSERVE, "penstock")
        for regime in regimes if number % 2 == 0 else regimes[::-1]:
            rates, found = run_set(session, orders, regime, what)
            if regime == OBSERVE:
                observed.append(rates)
                reports.append(found)
            else:
                acted.append(rates)
    return [savings.of_job(order.kind.name, [it[job] for it in observed],
                           [it[job] for it in acted],
                           [it[job] for it in reports])
            for job, order in enumerate(orders)]


def run(arguments, progress):
    with lab.opened(arguments.build, progress) as (session, demo_mix):
        pool = session.pool
        calibration = calibrate.Calibration(
            session, {name: data.bytes_per_sample(pool.mountpoint / name, name)
                      for name in data.SAMPLE_SUFFIX},
            pool.bandwidth_bytes_per_s, lab.CPUS)
        sets = []
        for kinds in demo_mix.sets:
            calibration.measure(kinds)
            orders = [calibration.costs[kind.name].order() for kind in kinds]
            found = compare(session, orders, arguments.rounds,
                            " + ".join(kind.name for kind in kinds))
            for it in found:
                progress.say(f"  {it.name}: would have saved {it.text()} of "
                             f"its time; lending saved {it.real:.3f}")
            sets.append(found)
    return figures_of(sets)


def figures_of(sets):
    jobs = [it for found in sets for it in found]
    judged = [it for it in jobs if it.told is not None]
    if not judged:
        raise BenchError("no report has an estimate")
    return [figure("jobs", [len(jobs)]), figure("judged", [len(judged)]),
            figure("inside", [sum(it.is_inside() for it in judged)]),
            figure("told", [savings.of_mix(judged, "told")]),
            figure("saved", [savings.of_mix(judged, "real")]),
            figure("mix_error", [abs(savings.of_mix(judged, "told")
                                     - savings.of_mix(judged, "real"))]),
            figure("job_error", [it.error for it in judged])]


if __name__ == "__main__":
    sys.exit(script.main("observe", run, lab.FAILURES))

"""Runs fixed job sets under the three regimes, in alternating order."""

import dataclasses
import statistics

from bench.demo import calibrate, optimum
from bench.demo.figures import REGIMES, SetRun

# Predictions are corrected within 10 s of a job's start. Under stock only the
# loaders' rings need to settle.
SETTLE_S = {"stock": 3, "even": 12, "penstock": 12}


@dataclasses.dataclass(frozen=True)
class SetResults:
    runs: list        # of SetRun
    loaders: list     # per round: {loader: calibrate.LoaderCost}
    reports: dict     # {(set, job): reports of the Penstock runs}
    background: dict  # {(set, regime): CPUs used besides the jobs, medians}
    steal: dict       # {regime: stolen CPUs, one per interval}


def regime_order(index):
    """Returns A B C, then C B A, so that drift of the machine affects each
    regime alike."""
    return REGIMES if index % 2 == 0 else REGIMES[::-1]


def measure(session, demo_mix, calibration, rounds, seconds, slots,
            show=lambda results, set_index: None):
    """rounds: 0 runs each set once, right after its kinds' calibration, and
    takes the loaders' costs from there.

    show: called after each set with the results so far."""
    results = SetResults([], [], {}, {}, {regime: [] for regime in REGIMES})
    backgrounds = {}
    sets = demo_mix.sets
    for round_index in range(max(1, rounds)):
        of_rounds = f"round {round_index + 1} of {rounds}: " if rounds else ""
        if rounds:
            calibration.measure(demo_mix.kinds.values())
            session.progress.phase(of_rounds + "what the loaders cost now")
            results.loaders.append(calibrate.measure_loaders(
                session, demo_mix.kinds.values(), slots))
        else:
            results.loaders.append(calibration.loaders)
        for set_index, kinds in enumerate(sets):
            calibration.measure(kinds)
            names = " + ".join(kind.name for kind in kinds)
            session.progress.phase(of_rounds + names)
            # Set by set, not regime by regime: a machine's speed changes within
            # minutes.
            for regime in regime_order(round_index + set_index):
                session.enter(regime)
                steady = session.steady(
                    [calibration.costs[kind.name].order() for kind in kinds],
                    SETTLE_S[regime], seconds, f"{regime}: {names}")
                results.runs.append(SetRun(set_index, round_index, regime,
                                           steady.rates))
                results.steal[regime].append(steady.usage.steal)
                backgrounds.setdefault((set_index, regime), []).append(
                    steady.usage.background)
                if regime == "penstock":
                    for index, job in enumerate(steady.jobs):
                        results.reports.setdefault(
                            (set_index, index), []).append(session.report(job))
            show(results, set_index)
    for key, values in backgrounds.items():
        results.background[key] = statistics.median(values)
    return results


def ceilings(sets, costs):
    return [tuple(costs[kind.name].ceiling for kind in kinds)
            for kinds in sets]


def optima(sets, costs, set_results, pool_bytes_per_s, slots, program):
    """Returns, per round, the LP optimum of each set at that round's costs. So
    the machine's speed in the round affects both the result and the optimum."""
    def optimum_of(index, costs_now):
        return optimum.solve(program, optimum.problem(
            [costs_now[kind.name] for kind in sets[index]], slots,
            set_results.background[index, "stock"], pool_bytes_per_s))
    return [[optimum_of(index, calibrate.with_loaders(costs, loaders))
             for index in range(len(sets))]
            for loaders in set_results.loaders]

"""Computes the demo's figures from measurements. Pure.

A round is one pass over the job sets under the three regimes. Everywhere, rates
are samples/s, ratios Penstock / baseline, errors fractions. docs/benchmarks.md
defines each figure.
"""

import dataclasses
import math
import random
import statistics

REGIMES = ("stock", "even", "penstock")
MEASURING_ERROR_RATIO = 1.02
BOOTSTRAP_SEED = 20220508
BOOTSTRAP_DRAWS = 2000


@dataclasses.dataclass(frozen=True)
class Figure:
    """value and spread (low, high) are None without measurements. passed is
    None without a target or a value."""
    name: str
    value: float | None
    unit: str
    spread: tuple | None
    runs: int
    target: str = ""
    passed: bool | None = None


@dataclasses.dataclass(frozen=True)
class SetRun:
    """One steady interval of one set: a rate per job, in the set's order."""
    set_index: int
    round_index: int
    regime: str
    rates: tuple


def at_least(name, values, target, unit="ratio"):
    return _judged(name, values, unit, f">= {target:g}",
                   lambda value: value >= target)


def at_most(name, values, target, unit="ratio"):
    return _judged(name, values, unit, f"<= {target:g}",
                   lambda value: value <= target)


def without_target(name, values, unit="ratio"):
    return dataclasses.replace(_judged(name, values, unit, "", bool),
                               passed=None)


def _judged(name, values, unit, target, passes):
    if not values:
        return Figure(name, None, unit, None, 0, target, None)
    value = statistics.median(values)
    return Figure(name, value, unit, (min(values), max(values)), len(values),
                  target, passes(value))


# -- fixed sets ---------------------------------------------------------------

def aggregate(rates, ceilings):
    """Returns the sum of x / ceiling over one set's jobs."""
    return sum(rate / ceiling
               for rate, ceiling in zip(rates, ceilings, strict=True))


def round_aggregates(runs, ceilings_of_set, regime):
    """Returns {round: sum of x / ceiling over all sets}. Rounds that lack a set
    under the regime are left out."""
    per_round = {}
    for run in runs:
        if run.regime == regime:
            per_round.setdefault(run.round_index, {})[run.set_index] = (
                aggregate(run.rates, ceilings_of_set[run.set_index]))
    return {index: sum(sets.values()) for index, sets in per_round.items()
            if len(sets) == len(ceilings_of_set)}


def gains(runs, ceilings_of_set, baseline):
    """Returns, per round, the aggregate of Penstock / that of the baseline."""
    ours = round_aggregates(runs, ceilings_of_set, "penstock")
    theirs = round_aggregates(runs, ceilings_of_set, baseline)
    return [ours[index] / theirs[index] for index in sorted(ours)
            if index in theirs]


def optimum_gains(runs, ceilings_of_set, optima):
    """Returns, per round, the LP optimum's aggregate / that of stock. optima:
    per round, per set."""
    stock = round_aggregates(runs, ceilings_of_set, "stock")
    return [sum(optima[index]) / stock[index] for index in sorted(stock)]


def ratios_to_optimum(runs, ceilings_of_set, optima):
    """Returns, per round, the aggregate of Penstock / the LP optimum's. optima:
    per round, per set."""
    ours = round_aggregates(runs, ceilings_of_set, "penstock")
    return [ours[index] / sum(optima[index]) for index in sorted(ours)]


# -- nobody loses -------------------------------------------------------------

def paired_ratios(runs, baseline_of_job):
    """Returns {(set, job): ratios Penstock / baseline, one per round}.

    baseline_of_job(set_index, job_index): "stock" or "even"."""
    rates = {(run.set_index, run.round_index, run.regime): run.rates
             for run in runs}
    ratios = {}
    for (set_index, round_index, regime), ours in sorted(rates.items()):
        if regime != "penstock":
            continue
        for job, rate in enumerate(ours):
            baseline = baseline_of_job(set_index, job)
            theirs = rates.get((set_index, round_index, baseline))
            if theirs is not None:
                ratios.setdefault((set_index, job), []).append(
                    rate / theirs[job])
    return ratios


def worst_median(ratios):
    """Returns the smallest of the jobs' medians."""
    return min(statistics.median(values) for values in ratios.values())


def bootstrap_interval(statistic, samples, seed=BOOTSTRAP_SEED,
                       draws=BOOTSTRAP_DRAWS):
    """Returns the 95% percentile interval of statistic({key: resampled
    values}).

    Each key's values are resampled with replacement. Returns None if a key has
    fewer than 3 values, which cannot support an interval."""
    if not samples or min(map(len, samples.values())) < 3:
        return None
    source = random.Random(seed)
    found = sorted(
        statistic({key: source.choices(values, k=len(values))
                   for key, values in samples.items()})
        for _ in range(draws))
    return (percentile(found, 2.5), percentile(found, 97.5))


def percentile(ascending, percent):
    """Interpolates linearly between the two values next to the rank."""
    rank = (len(ascending) - 1) * percent / 100
    low = math.floor(rank)
    high = math.ceil(rank)
    part = rank - low
    return ascending[low] * (1 - part) + ascending[high] * part


def worst_job_figure(runs, baseline_of_job, target=0.97):
    ratios = paired_ratios(runs, baseline_of_job)
    if not ratios:
        return at_least("worst_job_ratio", [], target)
    value = worst_median(ratios)
    return Figure("worst_job_ratio", value, "ratio",
                  bootstrap_interval(worst_median, ratios),
                  min(map(len, ratios.values())), f">= {target:g}",
                  value >= target)


def median_difference(pairs):
    """Returns the median of second - first, and its bootstrap interval."""
    differences = [second - first for first, second in pairs]
    interval = bootstrap_interval(
        lambda samples: statistics.median(samples["pairs"]),
        {"pairs": differences})
    return statistics.median(differences), interval


# -- predictions --------------------------------------------------------------

def prediction_error(predicted, measured):
    """Returns |predicted / measured - 1|; None if one is unknown."""
    if predicted is None or not measured:
        return None
    return abs(predicted / measured - 1)


def worst_error_figure(name, errors, target):
    """Returns the largest error; the spread is over the jobs."""
    known = [error for error in errors if error is not None]
    if not known:
        return at_most(name, [], target, "fraction")
    return Figure(name, max(known), "fraction", (min(known), max(known)),
                  len(known), f"<= {target:g}", max(known) <= target)


def worst_latency_figure(name, values_ms, events, target):
    """Returns the largest of the daemons' own percentiles (one penstockd per
    run of the regime). runs: the number of events behind them."""
    if not values_ms:
        return dataclasses.replace(at_most(name, [], target, "ms"), runs=events)
    return Figure(name, max(values_ms), "ms", (min(values_ms), max(values_ms)),
                  events, f"<= {target:g}", max(values_ms) <= target)

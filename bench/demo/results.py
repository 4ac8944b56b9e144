"""Turns measurements into figures, table and JSON. Pure."""

import dataclasses
import statistics

from bench.demo import figures

STOCK_SHARE = 0.95  # of the possible gain over stock


@dataclasses.dataclass(frozen=True)
class Measured:
    """All measurements of a demo run."""
    sets: tuple          # tuples of Kind, one per set
    costs: dict          # {kind name: calibrate.Cost}
    ceilings: list       # per set, per job
    optima: list         # per round, per set: the LP optimum's sum of
                         # x / ceiling
    set_results: object  # sets.SetResults
    dynamic: list        # dynamic.DynamicRun entries
    launches: list       # pairs of ms: without, with the plugin
    errors: list         # wrong_profiles.Errors entries
    statuses: list       # penstockd's states, one per Penstock run


def baseline_of_job(sets):
    """Returns the baseline that a job must not fall below. CPU-bound jobs:
    their cores under stock. Storage-bound jobs: their share of the pool under
    even."""
    def baseline(set_index, job):
        bound = sets[set_index][job].bound
        return "even" if bound == "storage" else "stock"
    return baseline


def all_figures(measured):
    """Returns all figures, in the issue's order."""
    runs, ceilings = measured.set_results.runs, measured.ceilings
    stock_gains = figures.gains(runs, ceilings, "stock")
    optimum_gains = figures.optimum_gains(runs, ceilings, measured.optima)
    return [
        figures.at_least("aggregate_gain",
                         figures.gains(runs, ceilings, "even"), 1.29),
        stock_figure(stock_gains, optimum_gains),
        figures.without_target("optimum_gain_over_stock", optimum_gains),
        optimum_figure(figures.ratios_to_optimum(runs, ceilings,
                                                 measured.optima)),
        figures.at_most("makespan_ratio", makespan_ratios(measured.dynamic),
                        0.90),
        figures.worst_job_figure(runs, baseline_of_job(measured.sets)),
        *error_figures(measured.errors),
        *latency_figures(measured.statuses),
        launch_pairs_figure(measured.launches),
    ]


def stock_figure(gains, optimum_gains):
    """gain - 1 must reach 0.95 of the optimum's gain."""
    target = 1 + STOCK_SHARE * (statistics.median(optimum_gains) - 1)
    return figures.at_least("gain_over_stock", gains, round(target, 4))


def optimum_figure(ratios):
    """A ratio above the optimum is a measuring error and fails. The target
    shown is then the exceeded limit."""
    figure = figures.at_least("ratio_to_optimum", ratios, 0.95)
    limit = figures.MEASURING_ERROR_RATIO
    if figure.value is not None and figure.value > limit:
        return dataclasses.replace(
            figure, target=f"<= {limit:g}", passed=False)
    return figure


def makespan_ratios(runs):
    """Returns Penstock / even, paired in the order of the runs."""
    spans = {regime: [run.makespan_s for run in runs if run.regime == regime]
             for regime in ("penstock", "even")}
    return [ours / theirs for ours, theirs in
            zip(spans["penstock"], spans["even"], strict=True)]


def error_figures(errors):
    arrival = [one.arrival for one in errors if one.factor == 1.0]
    corrected = [one.corrected for one in errors]
    return [figures.worst_error_figure("ceiling_error_arrival", arrival, 0.10),
            figures.worst_error_figure("ceiling_error_corrected", corrected,
                                       0.03)]


def latency_figures(statuses):
    found = []
    for name, part, percentile, target in (
            ("rebalance_p99_ms", "rebalance", "p99_ms", 100),
            ("recall_p99_ms", "recall", "p99_ms", 100),
            ("launch_overhead_ms", "launch", "p50_ms", 5),
            ("launch_overhead_p99_ms", "launch", "p99_ms", 20)):
        known = [status[part] for status in statuses
                 if status[part][percentile] is not None]
        found.append(figures.worst_latency_figure(
            name, [one[percentile] for one in known],
            sum(one["count"] for one in known), target))
    return found


def launch_pairs_figure(pairs):
    if not pairs:
        return figures.without_target("launch_pair_difference_ms", [], "ms")
    value, interval = figures.median_difference(pairs)
    return figures.Figure("launch_pair_difference_ms", value, "ms", interval,
                          len(pairs))


def to_json(found, machine, pool_proof):
    return {"bench": "demo", "machine": {**machine, "pool": pool_proof},
            "bootstrap_seed": figures.BOOTSTRAP_SEED,
            "figures": [{"name": one.name, "value": one.value,
                         "unit": one.unit, "spread": one.spread,
                         "runs": one.runs, "target": one.target,
                         "passed": one.passed} for one in found]}

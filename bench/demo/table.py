"""The demo's final output. Pure; 80 columns."""

import statistics

from bench.demo import figures
from bench.demo.figures import REGIMES
from bench.demo.results import baseline_of_job

MIB = 1 << 20


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def median(values):
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def largest(values):
    return max((value for value in values if value is not None), default=None)


def pool_text(proof, bandwidth_bytes_per_s):
    return (f"emulated pool capacity {bandwidth_bytes_per_s / MIB:.1f} MiB/s; "
            f"fio reads {proof.direct / MIB:.1f} direct,\n"
            f"{proof.buffered / MIB:.1f} buffered and cold, "
            f"{proof.in_cgroup / MIB:.1f} direct from a cgroup of its own")


def costs_text(costs):
    lines = ["kind         bound    CPU ms/sample    demand  accelerator  "
             "ceiling",
             "                      1 thread    all  slices  ms (emulated) "
             "samples/s"]
    for cost in costs.values():
        lines.append(
            f"{cost.kind.name:<12} {cost.kind.bound:<8} "
            f"{cost.cpu_s_one * 1e3:8.3f} {cost.cpu_s_all * 1e3:6.3f}  "
            f"{cost.kind.demand_slices:6.2f}  {cost.accelerator_s * 1e3:12.3f}"
            f"  {cost.ceiling:8.1f}")
    return "\n".join(lines)


def set_lines(measured, set_index):
    """Returns one line per job, then the sum of x / ceiling."""
    runs = [run for run in measured.set_results.runs
            if run.set_index == set_index]
    ratios = figures.paired_ratios(runs, baseline_of_job(measured.sets))
    lines = []
    for job, kind in enumerate(measured.sets[set_index]):
        rates = [median(run.rates[job] for run in runs if run.regime == regime)
                 for regime in REGIMES]
        reports = measured.set_results.reports.get((set_index, job), [])
        predicted = median(
            (report["ceiling"]["predicted"] or {}).get("value")
            for report in reports)
        lines.append(
            f"  {kind.name:<12} {number(predicted, 1):>9} "
            f"{measured.ceilings[set_index][job]:9.1f} "
            + " ".join(f"{number(rate, 1):>9}" for rate in rates)
            + f" {number(median(ratios.get((set_index, job), [])), 3):>9}")
    sums = [median(figures.aggregate(run.rates, measured.ceilings[set_index])
                   for run in runs if run.regime == regime)
            for regime in REGIMES]
    beside = [measured.set_results.background.get((set_index, regime))
              for regime in REGIMES]
    best = median(sets[set_index] for sets in measured.optima)
    lines.append(f"  {'sum x/ceiling':<32} "
                 + " ".join(f"{number(value, 3):>9}" for value in sums)
                 + f"   optimum {number(best, 3)}")
    lines.append(f"  {'CPUs used beside the jobs':<32} "
                 + " ".join(f"{number(value, 3):>9}" for value in beside))
    return lines


def comparison_text(kinds, ceilings, runs):
    """Returns one set's result right after its run: each job's rate as a share
    of its ceiling, under each regime. runs: the set's, of one round."""
    rates = {run.regime: run.rates for run in runs}
    lines = [f"  {'share of the ceiling':<24} "
             + " ".join(f"{regime:>9}" for regime in REGIMES)]
    for job, kind in enumerate(kinds):
        lines.append(f"  {kind.name:<24} " + " ".join(
            f"{rates[regime][job] / ceilings[job]:9.2f}"
            for regime in REGIMES))
    sums = {regime: figures.aggregate(rates[regime], ceilings)
            for regime in REGIMES}
    lines.append(f"  {'sum, as a part of stock':<24} " + " ".join(
        f"{sums[regime] / sums['stock']:9.2f}" for regime in REGIMES))
    return "\n".join(lines)


def sets_text(measured):
    lines = ["fixed sets       ceiling, samples/s    throughput, samples/s "
             "          ratio to",
             "               predicted  measured     stock      even  penstock "
             " baseline"]
    for set_index, kinds in enumerate(measured.sets):
        lines.append(" + ".join(kind.name for kind in kinds))
        lines += set_lines(measured, set_index)
    steal = ", ".join(
        f"{regime} {number(median(measured.set_results.steal[regime]), 3)}"
        for regime in REGIMES)
    lines.append(f"stolen by the hypervisor, CPUs: {steal}")
    lines.append("baseline: stock for CPU-bound jobs, even for storage-bound "
                 "ones")
    return "\n".join(lines)


def dynamic_text(measured, schedule):
    lines = ["schedule                      throughput, samples/s",
             "  job          arrives, s      stock      even  penstock  grant "
             "changes"]
    of = {regime: [run for run in measured.dynamic if run.regime == regime]
          for regime in REGIMES}
    for index, arrival in enumerate(schedule):
        rates = [median(run.rates[index] for run in of[regime])
                 for regime in REGIMES]
        changes = median(run.changes[index] for run in of["penstock"])
        lines.append(f"  {arrival.kind.name:<12} {arrival.arrive_s:10.0f} "
                     + " ".join(f"{number(rate, 1):>10}" for rate in rates)
                     + f"  {number(changes, 0):>6}")
    spans = [median(run.makespan_s for run in of[regime])
             for regime in REGIMES]
    lines.append(f"  {'makespan, s':<23} "
                 + " ".join(f"{number(span, 1):>10}" for span in spans))
    lines += ["reports:"] + [f"  {path}" for run in of["penstock"][-1:]
                             for path in run.reports]
    return "\n".join(lines)


def errors_text(errors):
    lines = ["largest errors of the predicted ceiling (fractions)",
             "  kind         profile x   at arrival  corrected"]
    for kind, factor in sorted({(one.kind, one.factor) for one in errors}):
        these = [one for one in errors
                 if (one.kind, one.factor) == (kind, factor)]
        lines.append(
            f"  {kind:<12} {factor:9.1f}   "
            f"{number(largest(one.arrival for one in these), 3):>10} "
            f"{number(largest(one.corrected for one in these), 3):>10}")
    return "\n".join(lines)


def verdict(figure):
    if figure.passed is None:
        return "" if not figure.target else "unknown"
    return "pass" if figure.passed else "MISS"


def figures_text(found):
    lines = ["figure                      value  spread             runs  "
             "target       result"]
    for one in found:
        spread = ("" if one.spread is None else
                  f"{one.spread[0]:.3f} to {one.spread[1]:.3f}")
        lines.append(f"{one.name:<25} {number(one.value, 3):>7}  {spread:<18}"
                     f"{one.runs:>5}  {one.target:<11}  "
                     f"{verdict(one)}".rstrip())
    lines.append("emulated: the accelerator (a timed wait per step) and the "
                 "pool's capacity;")
    lines.append(f"bootstrap seed {figures.BOOTSTRAP_SEED}")
    return "\n".join(lines)

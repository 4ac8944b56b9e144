"""Compares predictions with measured ceilings, for right and wrong profiles."""

import dataclasses
import pathlib

from bench.demo.calibrate import scaled_profile
from bench.demo.figures import prediction_error
from bench.demo.sets import SETTLE_S

FACTORS = (0.7, 1.5)
SECONDS = 5


@dataclasses.dataclass(frozen=True)
class Errors:
    """Errors of one job; None if its report lacks the figure."""
    kind: str
    factor: float
    arrival: float | None
    corrected: float | None


def value_of(report, name):
    """Returns report["ceiling"][name], a figure with an interval or null."""
    estimate = report["ceiling"].get(name)
    return None if estimate is None else estimate["value"]


def errors_of(report, kind, factor, ceiling):
    return Errors(kind, factor,
                  prediction_error(value_of(report, "predicted"), ceiling),
                  prediction_error(value_of(report, "corrected"), ceiling))


def measure(session, kinds, costs):
    """Runs the set with each factor; returns the Errors of its jobs."""
    found = []
    session.enter("penstock")
    for factor in FACTORS:
        session.progress.phase(f"profiles wrong by x {factor}")
        orders = [wrong_order(session, costs[kind.name], factor)
                  for kind in kinds]
        steady = session.steady(orders, SETTLE_S["penstock"], SECONDS,
                                f"profiles x {factor}")
        found += [errors_of(session.report(job), job.kind.name, factor,
                            costs[job.kind.name].ceiling)
                  for job in steady.jobs]
    return found


def wrong_order(session, cost, factor):
    text = scaled_profile(pathlib.Path(cost.profile).read_text("utf-8"),
                          factor)
    path = session.user_file(f"{cost.kind.name}-x{factor}.profile", text)
    return dataclasses.replace(cost.order(), profile=str(path))


def from_reports(reports, sets, costs):
    """Returns the errors with the right profiles, from the fixed sets'
    reports."""
    return [errors_of(report, sets[set_index][job].name, 1.0,
                      costs[sets[set_index][job].name].ceiling)
            for (set_index, job), several in sorted(reports.items())
            for report in several]

"""The common parts of all benchmarks' scripts: arguments, figures and exit."""

import argparse
import pathlib
import statistics

from bench.demo import ending
from bench.demo.progress import Progress
from bench.program import FAILURES


def parse(name, **options):
    """Parses the arguments of `penstock bench NAME`. options: arguments of
    add_argument(), by the option's name."""
    parser = argparse.ArgumentParser(prog=f"bench.{name}")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, required=True)
    for option, words in options.items():
        parser.add_argument(f"--{option}", **words)
    return parser.parse_args()


def main(name, run, failures=(), **options):
    """Prints the figures from run(arguments, progress) as JSON, and the
    progress on standard error. failures: exceptions besides FAILURES. Returns
    the exit code."""
    arguments = parse(name, **options)
    return ending.print_figures(name, (*FAILURES, *failures),
                                lambda: run(arguments, Progress()))


def figure(name, values, unit="1", value=None):
    """value: replaces the median. The spread is between quartiles."""
    low, high = min(values), max(values)
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"name": name, "unit": unit, "spread": high - low,
            "value": statistics.median(values) if value is None else value,
            "runs": len(values)}

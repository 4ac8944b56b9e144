"""Measures the cost of penstock.watch per batch of a training loop."""

import json

from bench import ROOT
from bench.program import run


TIMEOUT_S = 300


def measure(progress):
    """Returns its figures, in us."""
    progress.phase("overhead: penstock.watch per batch")
    return json.loads(run(
        "/usr/bin/python3", ROOT / "tests" / "python" / "bench_watch.py",
        timeout=TIMEOUT_S))

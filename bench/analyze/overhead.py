"""Measures the cost of penstock.watch per batch of a training loop."""

import json
import pathlib

from bench.program import run


ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 300


def measure(progress):
    """Returns its figures, in us."""
    progress.phase("overhead: penstock.watch per batch")
    return json.loads(run(
        "/usr/bin/python3", ROOT / "tests" / "python" / "bench_watch.py",
        timeout=TIMEOUT_S))

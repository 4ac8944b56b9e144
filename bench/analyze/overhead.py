"""What penstock.watch costs a training loop per batch."""

import json
import pathlib

from bench.program import run


ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 300


def measure(progress):
    """Its figures, in us."""
    progress.phase("overhead: penstock.watch per batch")
    return json.loads(run(
        "/usr/bin/python3", ROOT / "tests" / "python" / "bench_watch.py",
        timeout=TIMEOUT_S))

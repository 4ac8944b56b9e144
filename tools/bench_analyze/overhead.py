"""What penstock.watch costs a training loop per batch."""

import json
import pathlib
import subprocess

from demo_lib.session import DemoError

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 300


def measure(progress):
    """Figures in us; watch_overhead_us is the worst of the loaders'."""
    progress.phase("overhead: penstock.watch per batch")
    done = subprocess.run(
        ["/usr/bin/python3", ROOT / "tests" / "python" / "bench_watch.py"],
        stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise DemoError("bench_watch.py failed")
    figures = json.loads(done.stdout)
    worst = max(figures, key=lambda one: one["value"])
    return [*figures, {**worst, "name": "watch_overhead_us"}]

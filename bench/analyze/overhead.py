"""What penstock.watch costs a training loop per batch."""

import json
import pathlib
import subprocess

from bench.demo.session import DemoError

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 300


def measure(progress):
    """Its figures, in us."""
    progress.phase("overhead: penstock.watch per batch")
    done = subprocess.run(
        ["/usr/bin/python3", ROOT / "tests" / "python" / "bench_watch.py"],
        stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise DemoError("bench_watch.py failed")
    return json.loads(done.stdout)

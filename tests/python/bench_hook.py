#!/usr/bin/python3
"""Time that the hook adds to the start of an interpreter that imports no torch: with
and without it in turn.

Prints JSON: a list of {"name", "value", "unit", "spread", "runs"}; value is the
difference of the medians, spread the distance of the quartiles with the hook."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HOOK = pathlib.Path(__file__).resolve().parents[2] / "libpenstock/python/hook"
RUNS = 101


def start_ms(path):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    begin_ns = time.monotonic_ns()
    subprocess.run([sys.executable, "-c", ""], env=environment, check=True)
    return (time.monotonic_ns() - begin_ns) / 1e6


def main():
    pairs = [(start_ms(HOOK), start_ms("")) for _ in range(RUNS)]
    hooked, plain = zip(*pairs)
    low, middle, high = statistics.quantiles(hooked, n=4)
    value = middle - statistics.median(plain)
    json.dump([{"name": "hook_start_ms", "value": round(value, 2), "unit": "ms",
                "spread": round(high - low, 2), "runs": RUNS}], sys.stdout)
    print()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""CPU time that the hook adds to the start of an interpreter that imports no
torch: with and without it in turn.

Prints JSON: a list of {"name", "value", "unit", "spread", "runs"}; value is the
median of the differences, spread the distance of their quartiles."""

import json
import os
import pathlib
import statistics
import sys

HOOK = pathlib.Path(__file__).resolve().parents[2] / "libpenstock/python/hook"
RUNS = 101


def start_ms(path):
    environment = {**os.environ, "PYTHONPATH": str(path)}
    words = [sys.executable, "-c", ""]
    child = os.posix_spawn(sys.executable, words, environment)
    usage = os.wait4(child, 0)[2]
    return (usage.ru_utime + usage.ru_stime) * 1e3


def main():
    values = [start_ms(HOOK) - start_ms("") for _ in range(RUNS)]
    low, middle, high = statistics.quantiles(values, n=4)
    json.dump([{"name": "hook_start_ms", "value": round(middle, 2), "unit": "ms",
                "spread": round(high - low, 2), "runs": RUNS}], sys.stdout)
    print()


if __name__ == "__main__":
    main()

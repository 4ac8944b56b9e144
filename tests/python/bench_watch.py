#!/usr/bin/python3
"""CPU time of penstock.watch in the trainer's process per batch: the same
loader bare and watched in turn, with and without a (fake) penstockd.

Prints JSON: a list of {"name", "value", "unit", "spread", "runs"}; value is the
median of the differences over the rounds, spread the distance of their
quartiles."""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "libpenstock" / "python"), str(HERE)]

import penstock  # noqa: E402
from fake_daemon import FakeDaemon, socket_folder  # noqa: E402
from penstock._watch import Watched  # noqa: E402

try:
    import torch.utils.data
except ImportError:
    torch = None


def batch_us(batches):
    """CPU time: watch() never blocks, and other programs must not count."""
    begin_ns = time.thread_time_ns()
    count = sum(1 for _ in batches)
    return (time.thread_time_ns() - begin_ns) / count / 1000


def differences(loader, watched, rounds):
    batch_us(loader), batch_us(watched)  # the first batch of each is slower
    return [batch_us(watched) - batch_us(loader) for _ in range(rounds)]


def figure(name, values):
    low, middle, high = statistics.quantiles(values, n=4)
    return {"name": name, "value": round(middle, 2), "unit": "us",
            "spread": round(high - low, 2), "runs": len(values)}


def loaders(batches):
    """Names and loaders, each with that number of batches of 32."""
    yield "iterable", [[0] * 32] * batches
    if torch:
        data = torch.utils.data.TensorDataset(torch.arange(32 * batches))
        yield "dataloader", torch.utils.data.DataLoader(data, batch_size=32)


def measure(batches, rounds):
    figures = []
    with socket_folder() as folder:
        path = os.path.join(folder, "penstockd.sock")
        with FakeDaemon(path):
            for client_path in (path, path + ".absent"):
                where = "" if client_path == path else "_without_penstockd"
                client = penstock.Client(client_path)
                for name, loader in loaders(batches):
                    watched = Watched(loader, False, client)
                    values = differences(loader, watched, rounds)
                    figures.append(figure(
                        f"watch_overhead_us_{name}{where}", values))
                client.close()
    worst = max(figures, key=lambda one: one["value"])
    return [{**worst, "name": "watch_overhead_us"}, *figures]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=101)
    asked = parser.parse_args()
    if torch:
        torch.set_num_threads(1)
    json.dump(measure(asked.batches, asked.rounds), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

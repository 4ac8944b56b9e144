#!/usr/bin/python3
"""CPU time of a measurement in the trainer's process per batch: the same loader
measured and bare in turn, with and without a (fake) penstockd. A DataLoader is
measured by the patches alone, and by penstock.watch, which also splits its
time. The same for a step of an optimizer.

Prints JSON: a list of {"name", "value", "unit", "spread", "runs"}; value is the
median of the differences over the rounds, spread the distance of their
quartiles."""

import argparse
import json
import operator
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "libpenstock" / "python"), str(HERE)]

import penstock  # noqa: E402
from fake_daemon import FakeDaemon, socket_folder  # noqa: E402
from penstock import _client, _process  # noqa: E402
from penstock._instrument import instrument  # noqa: E402

try:
    import torch.utils.data
except ImportError:
    torch = None


def batch_us(batches):
    """CPU time: measurements never block, and other programs must not count."""
    begin_ns = time.thread_time_ns()
    count = sum(1 for _ in batches)
    return (time.thread_time_ns() - begin_ns) / count / 1000


def stock_batch_us(loader):
    """The same without the patches."""
    if not torch:
        return batch_us(loader)
    data = torch.utils.data.dataloader
    loaders, iterators = data.DataLoader, data._BaseDataLoaderIter
    patched = loaders.__iter__, iterators.__next__
    loaders.__iter__, iterators.__next__ = (
        one._penstock_stock for one in patched)
    try:
        return batch_us(loader)
    finally:
        loaders.__iter__, iterators.__next__ = patched


def differences(loader, measured, rounds):
    stock_batch_us(loader), batch_us(measured)  # the first batch is slower
    return [batch_us(measured) - stock_batch_us(loader) for _ in range(rounds)]


def step_us(step, optimizer, steps=1000):
    begin_ns = time.thread_time_ns()
    for _ in range(steps):
        step(optimizer)
    return (time.thread_time_ns() - begin_ns) / steps / 1000


def step_differences(rounds):
    """With an optimizer that does nothing."""

    class Nothing(torch.optim.Optimizer):
        def step(self):
            pass

    stock = Nothing.step
    optimizer = Nothing([torch.zeros(1)], {})
    patched = Nothing.step.__wrapped__  # below torch's own wrapper
    return [step_us(patched, optimizer) - step_us(stock, optimizer)
            for _ in range(rounds)]


def figure(name, values):
    low, middle, high = statistics.quantiles(values, n=4)
    return {"name": name, "value": round(middle, 2), "unit": "us",
            "spread": round(high - low, 2), "runs": len(values)}


def loaders(batches):
    """Names, loaders, and what measures them; batches of 32."""
    items = [[0] * 32] * batches
    yield "iterable", items, penstock.watch(items)
    if torch:
        def new():
            """Takes little time itself, of which the noise would hide ours."""
            return torch.utils.data.DataLoader(
                [torch.zeros(32)], batch_sampler=[[0]] * batches,
                collate_fn=operator.itemgetter(0))

        yield "patches", new(), new()
        yield "dataloader", new(), penstock.watch(new())


def measure(batches, rounds):
    figures = []
    with socket_folder() as folder:
        path = os.path.join(folder, "penstockd.sock")
        with FakeDaemon(path):
            for client_path in (path, path + ".absent"):
                where = "" if client_path == path else "_without_penstockd"
                client = _client._default = penstock.Client(client_path)
                for name, loader, measured in loaders(batches):
                    _process.current = None
                    values = differences(loader, measured, rounds)
                    figures.append(figure(
                        f"watch_overhead_us_{name}{where}", values))
                client.close()
    worst = max(figures, key=lambda one: one["value"])
    if torch:
        figures.append(figure("step_overhead_us", step_differences(rounds)))
    return [{**worst, "name": "watch_overhead_us"}, *figures]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=101)
    asked = parser.parse_args()
    if torch:
        torch.set_num_threads(1)
        instrument()
    json.dump(measure(asked.batches, asked.rounds), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()

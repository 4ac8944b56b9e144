#!/usr/bin/python3
"""Elastic workers against torch's own.

Throughput: pairs of epochs in alternating order, torch's own with K workers,
and four elastic workers of which K processes work; samples that compute, and
samples that sleep. Effects: from set_processes() until a process more does its
first sample (growth), or until the last sample of a process that has to stop
begins (shrink), and the longest time that set_processes() took. Slow samples:
5% sleep 20 times as long; four workers of torch's, and four seeded ones, to the
rate of the mean sample.

Prints JSON: a list of {"name", "value", "unit", "low", "high", "runs"}; value
is the median, low and high are the quartiles."""

import argparse
import itertools
import json
import os
import pathlib
import random
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "libpenstock" / "python"), str(HERE)]

import exact_case as case  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from penstock import watch  # noqa: E402

WORKERS = 4
BATCH = 4


class Samples(torch.utils.data.Dataset):
    """Each takes sample_ms of work, and tells who began it when."""

    def __init__(self, size, sample_ms, computes):
        self.size, self.sample_ms, self.computes = size, sample_ms, computes

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        begin = time.monotonic()
        if self.computes:
            end = time.thread_time() + self.sample_ms / 1000
            while time.thread_time() < end:
                numpy.random.rand(2000)
        else:
            time.sleep(self.sample_ms / 1000)
        return os.getpid(), begin, torch.rand(()).item(), random.random()


def rate(batches, seen=None):
    """Batches per second, without the first 12 (start, and open tasks); they
    are added to seen."""
    for _ in range(12):
        next(batches)
    begin, seen = time.monotonic(), [] if seen is None else seen
    seen += batches
    return len(seen) / (time.monotonic() - begin)


def work_rate(batches):
    """Batches per second by the moments at which processes began them, without
    the first 12: the slope, because processes that begin together would gain
    half a step from the quotient of the ends. Processes may have done some of
    the open tasks already when the trainer gets a batch, so its own clock would
    count these twice."""
    begun = sorted(batch[0][1] for batch in batches)[12:]
    return statistics.linear_regression(begun, range(len(begun))).slope


def loader(samples, workers):
    return case.loader(samples, workers, batch_size=BATCH)


def stock_rate(samples, processes):
    return work_rate(case.quietly(iter, loader(samples, processes)))


def elastic_rate(samples, processes):
    epoch = case.start(loader(samples, WORKERS))
    epoch.crew.set_processes(processes)
    return work_rate(epoch.iterator)


def ratios(samples, processes, pairs):
    stock_rate(samples, processes), elastic_rate(samples, processes)  # warm
    for number in range(pairs):
        order = [stock_rate, elastic_rate][:: 1 if number % 2 else -1]
        got = {run: run(samples, processes) for run in order}
        yield got[elastic_rate] / got[stock_rate]


def effects(samples, changes):
    """Yields (kind, ms to effect, ms of the call) per change."""
    rng = random.Random(1)
    epoch = case.start(loader(samples, WORKERS))
    pids = [worker.pid for worker in epoch.iterator._workers]
    take(epoch, 12)
    processes = WORKERS
    for _ in range(changes):
        wanted = rng.choice(sorted({1, 2, 3, 4} - {processes}))
        begin = time.monotonic()
        epoch.crew.set_processes(wanted)
        call_ms = (time.monotonic() - begin) * 1000
        seen = take(epoch, 30)
        low, high = sorted((wanted, processes))
        times = [t - begin for t, pid in seen if pid in pids[low:high]]
        times = [t * 1000 for t in times if t > 0]
        if wanted > processes:
            yield "growth", min(times), call_ms
        else:
            yield "shrink", max(times, default=0), call_ms
        processes = wanted


def take(epoch, batches):
    """Returns when each sample began, in which process."""
    return [
        (begin, pid)
        for _ in range(batches)
        for pid, begin, *_ in next(epoch.iterator)
    ]


class Slow(Samples):
    """5% of the samples take 20 times as long. Each tells how long it took."""

    def __getitem__(self, index):
        begin = time.monotonic()
        is_slow = random.Random(index).random() < 0.05
        time.sleep(self.sample_ms / 1000 * (20 if is_slow else 1))
        return time.monotonic() - begin


def slow_ratios(batch, pairs, sample_ms):
    """Yields (torch's, seeded) rates of pairs, to that of workers of which none
    ever waits."""
    samples = Slow(200 * batch, sample_ms, False)

    def relative(elastic):
        loader, seen = case.loader(samples, WORKERS, batch_size=batch), []
        if elastic:
            loader = watch(loader, elastic="seeded")
        got = rate(case.quietly(iter, loader), seen)
        return got * sum(map(sum, seen)) / len(seen) / WORKERS

    for number in range(pairs):
        order = [False, True][:: 1 if number % 2 else -1]
        got = {elastic: relative(elastic) for elastic in order}
        yield got[False], got[True]


def line(name, values, unit):
    low, value, high = statistics.quantiles(values, n=4)
    figures = {"value": value, "low": low, "high": high}
    rounded = {key: round(figure, 3) for key, figure in figures.items()}
    return {"name": name, **rounded, "unit": unit, "runs": len(values),
            "max": round(max(values), 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--batches", type=int, default=120)
    parser.add_argument("--batch-ms", type=float, default=20)
    parser.add_argument("--changes", type=int, default=20)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    size, sample_ms = arguments.batches * BATCH, arguments.batch_ms / BATCH
    for computes in (True, False):
        samples = Samples(size, sample_ms, computes)
        kind = "computing" if computes else "sleeping"
        for processes in (1, 2, 4):
            got = list(ratios(samples, processes, arguments.pairs))
            name = f"throughput, {kind}, K = {processes}"
            print(json.dumps(line(name, got, "of torch's")), flush=True)
    samples = Samples(10**6, 16, False)
    got = list(effects(samples, arguments.changes))
    for kind in ("growth", "shrink"):
        times = [ms for name, ms, _ in got if name == kind]
        print(json.dumps(line(f"time to {kind}", times, "ms")))
    print(json.dumps(line("set_processes()", [c for *_, c in got], "ms")))
    for sample_ms, batch in itertools.product((2, 5), (4, 8, 16)):
        got = list(slow_ratios(batch, arguments.pairs, sample_ms))
        name = f"slow samples of {sample_ms} ms, batches of {batch}"
        for kind, values in zip(("torch", "seeded"), zip(*got)):
            text = line(f"{name}, {kind}", values, "of the mean's")
            print(json.dumps(text), flush=True)
        gains = [seeded / stock for stock, seeded in got]
        print(json.dumps(line(f"{name}, seeded", gains, "of torch's")),
              flush=True)


if __name__ == "__main__":
    main()

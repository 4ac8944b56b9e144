"""python3 -m bench.memory, run by `penstock bench memory`. Prints figures as
JSON, and its progress on standard error."""

import itertools
import statistics
import sys

from bench import script
from bench.memory.processes import Processes
from bench.program import BenchError
from bench.script import figure

BATCHES = {"conv": 64, "transformer": 12}
# Budget for activations and their gradients, as a share of plain training's
# peak. The rest of a fifth of the peak is for weights; the transformer has more
# of them.
BUDGET_SHARES = {"conv": 0.17, "transformer": 0.12}
LARGE_BUDGET_SHARE = 0.90  # of the limit, for a full device
GROWTHS = (2, 4, 5, 6, 8)  # multiples of the batch, tried in this order


class Bench:
    def __init__(self, build, rounds, progress):
        self._processes = Processes(build)
        self._rounds = rounds
        self._progress = progress
        self._figures = []
        self._worst = {}
        self._link_bytes_per_s = self._measure_core()

    def _measure_core(self):
        found = self._processes.run("core")
        link = found["link_bytes_per_s"]
        self._progress.say(
            f"  one core computes {found['flops_per_s'] / 1e9:.0f} GFLOP/s; "
            f"the link of a device that it stands for has {link / 1e6:.0f} "
            "MB/s")
        self._add("link", [link / 1e6], "MB/s")
        return link

    def _train(self, kind, batch, *words):
        return self._processes.run("train", kind, batch, "--link",
                                   self._link_bytes_per_s, *words)

    def model(self, kind):
        batch = BATCHES[kind]
        plain = self._alone(kind, batch, "plain")
        budget_bytes = int(BUDGET_SHARES[kind] * plain["peak_bytes"])
        self._turns(kind, batch, budget_bytes)
        for way in ("recompute", "planned"):
            self._alone(kind, batch, way, "--budget", budget_bytes)
        self._grow(kind, batch, plain["peak_bytes"])

    def _alone(self, kind, batch, way, *words):
        """Trains in a separate process, to measure its RSS."""
        found = self._train(kind, batch, "--way", way, *words)
        self._progress.say(
            f"  {way} alone: {found['peak_bytes'] / 1e6:.0f} MB of the device, "
            f"{found['host_bytes'] / 1e6:.0f} MB of the host tier, RSS "
            f"{found['rss_bytes'] / 1e6:.0f} MB")
        self._add(f"rss_{way}_{kind}", [found["rss_bytes"] / 1e6], "MB")
        return found

    def _turns(self, kind, batch, budget_bytes):
        found = self._train(kind, batch, "--rounds", self._rounds, "--budget",
                            budget_bytes)
        self._say_plan(found)
        for way, pairs in found["steps"].items():
            times = [step[0] / plain[0] for plain, step in pairs]
            savings = [1 - step[1] / plain[1] for plain, step in pairs]
            self._say_way(way, pairs, times, savings)
            self._add(f"{way}_step_{kind}", times)
            if way == "mirror":
                self._worse("mirror_vs_plain", times, max)
                continue
            self._add(f"{way}_saving_{kind}", savings)
            if way == "planned":
                self._worse("peak_saving", savings, min)
                self._worse("step_ratio", times, max)

    def _say_way(self, way, pairs, times, savings):
        plain_s, step_s = (statistics.median(one[i][0] for one in pairs)
                           for i in range(2))
        peak_bytes = statistics.median(step[1] for _, step in pairs)
        self._progress.say(
            f"  {way}: {step_s:.2f} s a step, {statistics.median(times):.2f} "
            f"of plain ({plain_s:.2f} s); {peak_bytes / 1e6:.0f} MB, "
            f"{statistics.median(savings):.1%} less")

    def _say_plan(self, found):
        device = ("one core and an arena" if found["device"] == "cpu"
                  else found["device"])
        rate = ("" if found["device"] != "cpu" else
                " (emulated accelerator: the copy to the host is held to "
                f"{self._link_bytes_per_s / 1e6:.0f} MB/s)")
        counts = ", ".join(f"{count} {action}"
                           for action, count in found["plan"].items())
        self._progress.say(
            f"  on {device}{rate}; plan for "
            f"{found['budget_bytes'] / 1e6:.0f} MB: {counts}")

    def _grow(self, kind, batch, limit_bytes):
        """Measures the largest multiple of the batch that fits under a hard
        limit: the peak of plain training's batch."""
        budget_bytes = int(LARGE_BUDGET_SHARE * limit_bytes)
        limit = ("--limit", limit_bytes, "--budget", budget_bytes)

        def fits(times, way):
            return self._train(kind, times * batch, "--way", way,
                               *limit)["fits"]

        if not fits(1, "plain") or fits(2, "plain"):
            raise BenchError(f"{kind}: the limit of {limit_bytes} bytes "
                             "does not hold plain training to its batch")
        growth = max(itertools.takewhile(lambda times: fits(times, "planned"),
                                         GROWTHS), default=1)
        self._progress.say(f"  {growth} times the batch fits in "
                           f"{limit_bytes / 1e6:.0f} MB")
        self._add(f"batch_growth_{kind}", [growth])
        self._worse("batch_growth", [growth], min)

    def bytes_per_parameter(self):
        for way in ("ddp", "mirror"):
            found = self._processes.run("bytes_per_parameter", way)
            self._progress.say(
                f"  {way}: {found['bytes']:.2f} bytes for each parameter; the "
                "two largest layers' gradients are "
                f"{found['two_largest_gradients']:.2f}")
            self._add(f"bytes_per_parameter_{way}", [found["bytes"]], "bytes")

    def _add(self, name, values, unit="1"):
        self._figures.append(figure(name, values, unit))

    def _worse(self, name, values, choose):
        """Keeps the worst value over the models."""
        worst = self._worst.setdefault(name, values)
        self._worst[name] = choose(worst, values, key=statistics.median)

    def figures(self):
        return [figure(name, values) for name, values in self._worst.items()
                ] + self._figures


def run(arguments, progress):
    bench = Bench(arguments.build, arguments.rounds, progress)
    for kind in BATCHES:
        progress.phase(f"{kind}, a batch of {BATCHES[kind]}")
        bench.model(kind)
    progress.phase("bytes for each parameter")
    bench.bytes_per_parameter()
    return bench.figures()


if __name__ == "__main__":
    sys.exit(script.main("memory", run))

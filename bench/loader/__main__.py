"""python3 -m bench.loader, run by `penstock bench loader`. Prints figures as
JSON; prints its progress, every run and missing peers on standard error."""

import os
import pathlib
import sys

from bench import script
from bench.loader import formats, measure, peers, pixels
from bench.program import BenchError
from bench.script import figure

WARM_S = 1
MEASURED_S = 3


def present(programs, missing):
    """Returns the measurable peers; puts the others' reasons into missing."""
    out = []
    for peer in peers.PEERS:
        why = programs.missing(peer)
        if why:
            missing[peer.name] = f"{peer.text}: {why}"
        else:
            out.append(peer)
    return out


class Rounds:
    """Runs all peers by turns. A peer that fails is left out from then on, and
    missing gets the reason."""

    def __init__(self, programs, data, progress, missing):
        self._programs = programs
        self._data = data
        self._progress = progress
        self._missing = missing
        self._threads = len(os.sched_getaffinity(0))
        self._environment = dict(os.environ, OMP_NUM_THREADS="1")

    def run(self, peer):
        """Returns Measured, or None."""
        self._progress.live(peer.text)
        try:
            found = measure.measure(
                self._programs.command(peer, self._data[peer.name],
                                       self._threads, WARM_S, MEASURED_S),
                self._environment)
        except BenchError as error:
            if peer.name == peers.PENSTOCK:
                raise
            self._missing[peer.name] = f"{peer.text}: {error}"
            return None
        self._progress.say(f"  {peer.text:46}{found.per_cpu_s:8.0f} images per "
                           f"CPU second{found.per_s:8.0f} images/s")
        return found

    def run_all(self, found, count):
        """Returns, for each round, the runs by name."""
        out = []
        for number in range(count):
            self._progress.phase(f"round {number + 1} of {count}, "
                                 f"{self._threads} threads")
            first = number % len(found)  # rotates the order of peers
            runs = {peer.name: self.run(peer)
                    for peer in found[first:] + found[:first]
                    if peer.name not in self._missing}
            out.append(runs)
        return [{name: run for name, run in runs.items()
                 if name not in self._missing} for runs in out]


def rate_figures(rounds):
    """Returns Penstock's ratios to each other peer, round by round, and the
    rates."""
    out = []
    for name in rounds[0]:
        if name != peers.PENSTOCK:
            out.append(figure(
                f"vs_{name}",
                [runs[peers.PENSTOCK].per_cpu_s / runs[name].per_cpu_s
                 for runs in rounds]))
    for name in rounds[0]:
        out.append(figure(f"{name}_images_per_cpu_s",
                          [runs[name].per_cpu_s for runs in rounds], "1/s"))
    return out


def pixel_figures(differences):
    """Returns the worst crop's figures; the spread is over the crops."""
    means = [it.mean for it in differences]
    ninety_nines = [it.p99 for it in differences]
    return [figure("pixel_mean_worst", means, "1/255", max(means)),
            figure("pixel_mean", means, "1/255"),
            figure("pixel_p99_worst", ninety_nines, "1/255",
                   max(ninety_nines)),
            figure("pixel_p99", ninety_nines, "1/255")]


def run(arguments, progress):
    programs = peers.Programs(arguments.build, arguments.peers)
    missing = {}
    progress.phase("looking for the peers")
    found = present(programs, missing)
    if peers.PENSTOCK in missing:
        raise OSError(missing[peers.PENSTOCK])
    made = formats.Formats(arguments.build, programs, progress)
    data = {peer.name: made.path(peer) for peer in found}
    rounds = Rounds(programs, data, progress, missing)
    out = rate_figures(rounds.run_all(found, arguments.rounds))
    why = pixels.missing()
    if why:
        missing["pixels"] = f"comparison with torchvision's pixels: {why}"
    else:
        progress.phase(f"pixels, of {pixels.PACKAGE}")
        out += pixel_figures(pixels.compare(
            arguments.build / "bin" / "penstock-bench-loader"))
    for name, text in missing.items():
        progress.say(f"missing: {name}: {text}")
    return out


if __name__ == "__main__":
    sys.exit(script.main("loader", run,
                         peers={"type": pathlib.Path}))

"""python3 -m bench.staging, run by `penstock bench staging`. Prints figures as
JSON, and its progress on standard error."""

import itertools
import shutil
import sys
import tempfile

from bench import program, script
from bench.script import figure
from bench.staging import jobs

COUNTS = (2, 4, 8)
PICTURES = 1024
SIZE = (500, 375)
QUALITY = 90
EPOCHS = 40        # of jobs that share, and of one job alone
ALONE_EPOCHS = 20  # of independent jobs, all together
CPUS = 2           # for the rates: one job alone has as many threads


def make_pictures(build, progress):
    """Returns the pictures' folder, which stays in the build directory, and in
    the page cache after one run."""
    folder = build / "bench_staging" / "jpeg"
    if len(list(folder.glob("*.jpg"))) == PICTURES:
        return folder
    progress.phase("making the pictures (kept for the next run)")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    program.run(build / "bin" / "penstock-demo-data", "--out", folder,
                "--count", PICTURES, "--width", SIZE[0], "--height", SIZE[1],
                "--quality", QUALITY)
    return folder


class Bench:
    def __init__(self, build, folder, environment, progress):
        self._folder = folder
        self._loader = jobs.Penstock(build, folder, environment)
        self._progress = progress
        self._seeds = itertools.count(1)
        self._found = {}

    def round(self):
        for count in COUNTS:
            self._compare(count)

    def _run(self, what, count, epochs, *words):
        run = self._loader.run(count, epochs, "--seed", next(self._seeds),
                               *words)
        self._progress.say(
            f"  {what}: {run.rate:.0f} samples/s each, "
            f"{run.cpu_s / run.samples * 1e3:.4f} ms of CPU for each sample "
            f"of {run.samples}")
        return run

    def _compare(self, count):
        # One thread per CPU, for any number of jobs.
        threads = ("--threads", max(1, CPUS // count))
        alone = self._run(f"{count} independent jobs", count,
                          max(2, ALONE_EPOCHS // count), *threads)
        one = self._run("one job alone", 1, EPOCHS, "--threads", CPUS)
        shared = self._run(f"{count} jobs of one share", count, EPOCHS,
                           *threads, "--loader-share", "bench", "--share-jobs",
                           count)
        theirs = jobs.pytorch(self._folder, count)
        self._progress.say(f"  {count} independent DataLoaders: "
                           f"{theirs.rate:.0f} samples/s each")
        # The emulated accelerator takes no time. So the rate of one job alone
        # is the machine's preparation rate, not a ceiling.
        self._note("prep_cpu_ratio", count,
                   shared.cpu_s / shared.samples / (one.cpu_s / one.samples))
        self._note("share_throughput", count,
                   shared.rate / (count * alone.rate))
        self._note("vs_independent", count, shared.rate / alone.rate)
        self._note("vs_pytorch", count, shared.rate / theirs.rate)

    def _note(self, name, count, value):
        self._found.setdefault(f"{name}_{count}", []).append(value)

    def figures(self):
        return [figure(name, values) for name, values in self._found.items()]


def run(arguments, progress):
    folder = make_pictures(arguments.build, progress)
    with tempfile.TemporaryDirectory(dir="/dev/shm",
                                     prefix="penstock-bench-") as base:
        bench = Bench(arguments.build, folder, {"PENSTOCK_CACHE_DIR": base},
                      progress)
        for number in range(arguments.rounds):
            progress.phase(f"round {number + 1} of {arguments.rounds} "
                           "(emulated accelerator that takes no time)")
            bench.round()
    return bench.figures()


if __name__ == "__main__":
    sys.exit(script.main("staging", run))

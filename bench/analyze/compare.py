"""Compares what-if with real runs of the same job, for CPU amounts, bandwidths
and cache sizes."""

import contextlib
import dataclasses
import pathlib
import random
import shutil
import statistics

from bench.demo.lab import CPUS

AMOUNTS = tuple(quarter / 4 for quarter in range(1, 4 * CPUS + 1))
ANALYSED = AMOUNTS[::2]  # the others are held back; it has all cores
# Shares of the bandwidth that the job would use with only the pool's limit.
BANDWIDTH_SHARES = (0.25, 0.5, 0.75, 1.0, 1.25)
SLOW_SHARE = 0.35  # share for caches of 0 to 100%
CACHED_SHARES = (0, 0.25, 0.5, 0.75, 1)
CACHED_EPOCHS = 2  # the order of samples is random


@dataclasses.dataclass(frozen=True)
class Point:
    """One amount of one job."""
    job: str
    of: str        # "cores", "bandwidth", "cache"
    amount: float  # cores, bytes/s, share
    predicted: float
    runs: tuple    # samples/s of each real run
    held_back: bool = True

    @property
    def measured(self):
        return statistics.median(self.runs)

    @property
    def error(self):
        return abs(self.predicted / self.measured - 1)

    def text(self):
        low, high = min(self.runs), max(self.runs)
        unit = {"cores": 1, "bandwidth": 1e-6, "cache": 100}[self.of]
        return (f"{self.job:12} {self.of:9} {self.amount * unit:7.2f}  "
                f"what-if {self.predicted:8.1f}  real {self.measured:8.1f} "
                f"[{low:.1f} to {high:.1f}]  error {self.error:.3f}"
                + ("" if self.held_back else "  (analysed)"))


class Comparison:
    """Compares one kind of job. runner: Runner. The accelerator's time per
    sample is chosen for this machine."""

    def __init__(self, runner, work, accelerator_s, rounds, budget_s):
        self._runner = runner
        self._work = work
        self._accelerator_s = accelerator_s
        self._rounds = rounds
        self._budget_s = budget_s
        self._random = random.Random(1)

    def _shuffled(self, amounts):
        return self._random.sample(amounts, len(amounts))

    def _points(self, of, amounts, predicted, rounds, held_back=None):
        return [Point(self._work.name, of, amount, value,
                      tuple(one[amount] for one in rounds),
                      held_back is None or amount in held_back)
                for amount, value in zip(amounts, predicted)]

    def cores(self):
        """Returns (points, findings, profile, seconds of the analysis)."""
        work, runner = self._work, self._runner
        line = work.line(self._accelerator_s)
        rounds = []
        for number in range(self._rounds):
            runner.session.enter("stock")
            rounds.append(runner.rates_at(
                line, work, lambda held, cores: held.hold_cores(cores),
                self._shuffled(AMOUNTS), f"{work.name}, cores"))
            # Neither first nor last: a slowdown of the machine in between is no
            # error of the model.
            if number == 0:
                runner.session.enter("penstock")
                findings, profile, seconds = runner.analyze(
                    work, line, ANALYSED, self._budget_s)
        predicted = runner.what_if(profile, "cores", map(str, AMOUNTS))
        held_back = [it for it in AMOUNTS
                     if it not in ANALYSED and it != CPUS]
        return (self._points("cores", AMOUNTS, predicted, rounds, held_back),
                findings, profile, seconds)

    def storage(self, profile, wanted_samples_per_s):
        """Returns points of bandwidths and of cache sizes.

        wanted_samples_per_s: the job's rate with cached data."""
        work, runner = self._work, self._runner
        pool = runner.session.pool.bandwidth_bytes_per_s
        wanted = min(pool, wanted_samples_per_s * work.bytes_per_sample())
        bandwidths = [int(share * wanted) for share in BANDWIDTH_SHARES
                      if share * wanted <= pool]
        slow = int(SLOW_SHARE * wanted)
        runner.session.enter("stock")
        by_bandwidth, by_cache = [], []
        for _ in range(self._rounds):
            by_bandwidth.append(runner.rates_at(
                work.line(self._accelerator_s, cold=True), work,
                lambda held, it: held.hold_bandwidth(it),
                self._shuffled(bandwidths), f"{work.name}, bytes/s"))
            by_cache.append({share: self._cached(share, slow)
                             for share in self._shuffled(CACHED_SHARES)})
        return self._points(
            "bandwidth", bandwidths, runner.what_if(
                profile, "bandwidth", map(str, bandwidths), "--cache", "0%"),
            by_bandwidth) + self._points(
            "cache", CACHED_SHARES, runner.what_if(
                profile, "cache", [f"{100 * it:g}%" for it in CACHED_SHARES],
                "--bandwidth", str(slow)), by_cache)

    def _cached(self, share, bandwidth):
        """Returns the samples/s of a job with a fixed share of its data set in
        memory. The share is on tmpfs; the rest is on the device, read past the
        page cache."""
        work, runner = self._work, self._runner
        with partly_cached(work, share,
                           pathlib.Path(runner.cluster.directory)) as folder:
            line = work.line(self._accelerator_s, folder=folder, cold=True)
            found = runner.rates_at(
                line, work, lambda held, it: held.hold_bandwidth(it),
                [bandwidth], f"{work.name}, {share:.0%} cached, bytes/s",
                CACHED_EPOCHS)
        return found[bandwidth]


@contextlib.contextmanager
def partly_cached(work, share, directory):
    """Yields a folder of the work's samples, of which a share is on tmpfs."""
    folder = directory / "bin" / f"cached-{work.name}-{share}"
    memory = pathlib.Path("/dev/shm", f"penstock-bench-{directory.name}")
    folder.mkdir(mode=0o755)
    memory.mkdir(mode=0o755)
    try:
        for index, path in enumerate(work.samples()):
            # Spread evenly, so that each batch has its part.
            is_cached = int((index + 1) * share) > int(index * share)
            target = path
            if is_cached:
                target = shutil.copy(path, memory)
            (folder / path.name).symlink_to(target)
        yield folder
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(memory)

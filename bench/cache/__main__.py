"""python3 -m bench.cache, run by `penstock bench cache`. Prints figures as
JSON, and its progress on standard error."""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

import embedded

from bench import ROOT, script
from bench.cache import epochs, nodes, pictures
from bench.demo.memory_group import MemoryGroup
from bench.demo.pool import Pool
from bench.script import figure

SHARES = (0.25, 0.50, 0.75)
SLOW_SHARE = 0.65
FAST_BYTES_PER_S = 1 << 30
SLOW_BYTES_PER_S = 20e6
# Memory for the programs' kernel objects, and the free part beside the cache.
# The cache shrinks when less than half of that part is free.
KERNEL_BYTES = 8 << 20
FREE_PART = 16
AMPLE_BYTES = 4 << 30


class Caches:
    """The caches of this run, in their own tmpfs folder."""

    def __init__(self, build):
        self._penstock = build / "bin" / "penstock"
        self._base = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm",
                                                   prefix="penstock-bench-"))
        self.environment = {"PENSTOCK_CACHE_DIR": str(self._base)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self._base, ignore_errors=True)

    def facts(self):
        """Returns the facts of the only cache."""
        done = subprocess.run([self._penstock, "cache", "status", "--json"],
                              env=self.environment, text=True,
                              capture_output=True, check=True)
        return json.loads(done.stdout)[0]

    def drop(self):
        subprocess.run([self._penstock, "cache", "drop", "--all"],
                       env=self.environment, capture_output=True, check=True)


class OwnMemory:
    """Samples the programs' own memory in a group."""

    def __init__(self, group):
        self._group = group
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._found = []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()

    def _watch(self):
        while not self._ended.wait(0.02):
            self._found.append(self._group.own_bytes())

    def bytes(self):
        """Returns the median of the second half, after all programs have
        started."""
        return statistics.median(self._found[len(self._found) // 2:])


def limit_of(anonymous_bytes, file_bytes):
    return round((anonymous_bytes + file_bytes + KERNEL_BYTES)
                 * FREE_PART / (FREE_PART - 1))


class Bench:
    def __init__(self, build, rounds, caches, progress):
        self._build = build
        self._rounds = rounds
        self._caches = caches
        self._progress = progress

    def _loader(self, pool):
        return epochs.Penstock(self._build, pool, self._caches.environment)

    def _own_bytes(self, run):
        """Returns a loader's own memory, measured in ample memory."""
        with MemoryGroup(AMPLE_BYTES) as group:
            with OwnMemory(group) as own:
                run(group)
            return own.bytes()

    def shares(self, image):
        """Returns figures of caches of several sizes beside the page cache."""
        found = {"miss_error": [], "miss_bytes_error": []}
        with Pool(image, FAST_BYTES_PER_S) as pool:
            folder = pool.mountpoint / "jpeg"
            size = pictures.total_bytes(folder)
            loader = self._loader(pool)
            own = self._own_bytes(lambda group: loader.epoch(group, "--direct"))
            with MemoryGroup(AMPLE_BYTES) as group:
                everything = loader.epoch(group, "--direct").read_bytes
            for share in SHARES:
                self._progress.phase(f"a cache of {share:.0%}")
                with MemoryGroup(limit_of(own, share * size)) as group:
                    cached = self._cached(loader, group, share * size)
                with MemoryGroup(limit_of(own, share * size)) as group:
                    paged = self._paged(loader, group)
                self._note(share, size, everything, cached, paged, found)
        return [figure(name, values, value=max(values) if "error" in name
                       else None) for name, values in found.items()]

    def _cached(self, loader, group, most_bytes):
        """Returns the cache's facts, and epochs after the epoch that filled
        it."""
        words = ["--direct", "--cache", str(int(most_bytes)), "--cache-keep",
                 "600"]
        loader.epoch(group, *words)
        found = [loader.epoch(group, *words) for _ in range(self._rounds)]
        facts = self._caches.facts()
        self._caches.drop()
        return facts, found

    def _paged(self, loader, group):
        loader.epoch(group)
        return [loader.epoch(group) for _ in range(self._rounds)]

    def _note(self, share, size, everything, cached, paged, found):
        facts, runs = cached
        missing = 1 - facts["cached_samples"] / facts["samples"]
        missing_bytes = 1 - facts["cached_bytes"] / size
        ratios = []
        for ours, theirs in zip(runs, paged):
            missed = (ours.samples - ours.hits) / ours.samples
            found["miss_error"].append(abs(missed - missing))
            found["miss_bytes_error"].append(
                abs(ours.read_bytes / everything - missing_bytes))
            ratios.append(ours.read_bytes / theirs.read_bytes)
            self._progress.say(
                f"  {1 - missing_bytes:.1%} cached: {missed:.2%} of the samples "
                f"missed, {ours.read_bytes / 1e6:.1f} MB read; page cache "
                f"{theirs.read_bytes / 1e6:.1f} MB of "
                f"{everything / 1e6:.1f} MB")
        found[f"read_vs_page_cache_{share * 100:.0f}"] = ratios

    def fetch_bound(self, image):
        """Returns figures of a cache of 65% on slow storage, beside PyTorch."""
        with Pool(image, SLOW_BYTES_PER_S) as pool:
            size = pictures.total_bytes(pool.mountpoint / "jpeg")
            cache_bytes = round(SLOW_SHARE * size)
            loader = self._loader(pool)
            self._progress.phase("memory that each loader takes itself")
            words = ["--direct", "--cache", str(cache_bytes), "--cache-keep",
                     "600"]
            own = self._own_bytes(lambda group: loader.epoch(
                group, "--direct", "--samples", "1000"))
            theirs = self._own_bytes(lambda group: epochs.pytorch(
                pool, group, 1))
            limits = limit_of(own, cache_bytes), limit_of(theirs, cache_bytes)
            self._progress.say(
                f"  Penstock {own / 1e6:.1f} MB, PyTorch {theirs / 1e6:.1f} MB; "
                f"with {cache_bytes / 1e6:.1f} MB for files the limits are "
                f"{limits[0] / 1e6:.1f} and {limits[1] / 1e6:.1f} MB")
            with MemoryGroup(limits[0], "ours") as ours:
                prep, fetch, share = self._model(loader, ours, words)
                found = self._pairs(loader, ours, words, pool, limits[1])
        return self._fetch_figures(prep, fetch, share, found, own, theirs)

    def _model(self, loader, group, words):
        """Returns samples/s of preparation alone and of storage alone, and the
        cached share of bytes."""
        self._progress.phase("what the model needs")
        with MemoryGroup(AMPLE_BYTES) as ample:
            everything = ["--direct", "--cache", str(AMPLE_BYTES >> 1),
                          "--cache-keep", "600"]
            loader.epoch(ample, *everything)
            prep = loader.epoch(ample, *everything)
            self._caches.drop()
        fetch = loader.epoch(group, "--direct")
        loader.epoch(group, *words)  # fills the cache
        facts = self._caches.facts()
        share = facts["cached_samples"] / facts["samples"]
        rates = [one.samples / one.seconds for one in (prep, fetch)]
        self._progress.say(f"  preparation {rates[0]:.0f} samples/s, storage "
                           f"{rates[1]:.0f} samples/s, {share:.1%} cached")
        return (*rates, share)

    def _pairs(self, loader, group, words, pool, their_limit):
        self._progress.phase("epochs by turns")
        found = []
        for _ in range(self._rounds):
            ours = [loader.epoch(group, *words) for _ in range(2)]
            with MemoryGroup(their_limit, "theirs") as other:
                theirs = epochs.pytorch(pool, other, 3)[1:]
            found.append((ours, theirs))
            self._progress.say(
                "  ours " + ", ".join(f"{one.seconds:.2f} s "
                                      f"({one.read_bytes / 1e6:.0f} MB)"
                                      for one in ours)
                + "; PyTorch " + ", ".join(f"{one.seconds:.2f} s "
                                           f"({one.read_bytes / 1e6:.0f} MB)"
                                           for one in theirs))
        return found

    @staticmethod
    def _fetch_figures(prep, fetch, share, found, own, theirs):
        model = min(prep, fetch / (1 - share))
        seconds = [sum(one.seconds for one in side) / len(side)
                   for pair in found for side in pair]
        mine, others = seconds[::2], seconds[1::2]
        samples = found[0][0][0].samples
        return [
            figure("epoch_vs_model", [one * model / samples for one in mine]),
            figure("vs_pytorch", [b / a for a, b in zip(mine, others)]),
            figure("cached_share", [share]),
            figure("own_memory_penstock", [own], "B"),
            figure("own_memory_pytorch", [theirs], "B"),
        ]


def run(arguments, progress):
    image = pictures.make_image(arguments.build, progress)
    # First, because most machines lack a requirement of it.
    between = nodes.measure_all(arguments.build, arguments.rounds, progress)
    with Caches(arguments.build) as caches:
        bench = Bench(arguments.build, arguments.rounds, caches, progress)
        progress.phase("caches beside the page cache, in the same memory")
        figures = bench.shares(image)
        progress.phase(f"storage of {SLOW_BYTES_PER_S / 1e6:.0f} MB/s")
        return figures + bench.fetch_bound(image) + between


if __name__ == "__main__":
    sys.exit(script.main("cache", run, (embedded.ClusterError,)))

"""The analysed jobs: the demo's kinds, and a PyTorch loop."""

import dataclasses
import pathlib
import shutil

from bench import ROOT
from bench.demo import mix

THREADS = 2


@dataclasses.dataclass(frozen=True)
class Work:
    """A kind of job, without its accelerator's time. cold: the arguments that
    bypass the page cache."""
    name: str
    command: tuple
    batch: int
    folder: pathlib.Path
    sample_suffix: str
    cold: tuple
    is_always_cold: bool
    kind: mix.Kind

    def line(self, accelerator_s, *more, folder=None, cold=False):
        """Returns the whole command line of one job."""
        return [*self.command, "--data", str(folder or self.folder),
                "--batch", str(self.batch), "--accelerator-s-per-sample",
                f"{accelerator_s:.9f}",
                *(self.cold if cold or self.is_always_cold else ()), *more]

    def bytes_per_sample(self):
        sizes = [path.stat().st_size for path in self.samples()]
        return sum(sizes) / len(sizes)

    def samples(self):
        return sorted(self.folder.glob("*" + self.sample_suffix))

    def accelerator_s(self, cpu_s_per_sample, slice_bytes_per_s):
        return mix.accelerator_s_per_sample(
            self.kind, cpu_s_per_sample, self.bytes_per_sample(),
            slice_bytes_per_s)


def staged(cluster):
    """Returns a folder with the Python loops and their module, readable by
    ordinary users."""
    target = pathlib.Path(cluster.directory, "bin", "loops")
    shutil.copytree(ROOT / "libpenstock/python/penstock", target / "penstock",
                    ignore=shutil.ignore_patterns("__pycache__"))
    for path in ("demo/train_pytorch.py", "analyze/stalled.py"):
        shutil.copy(ROOT / "bench" / path, target)
    return target


def make(cluster, loops, pool, demo_mix, names):
    train = cluster.expose(cluster.build / "bin" / "penstock-train")
    programs = {mix.TRAIN: (train,),
                mix.PYTORCH: ("/usr/bin/python3", loops / "train_pytorch.py")}
    return [of_kind(programs, pool, demo_mix.kinds[name]) for name in names]


def of_kind(programs, pool, kind):
    suffix = {"jpeg": ".jpg", "raw": ".ppm"}[kind.format]
    cold = {mix.TRAIN: "--direct", mix.PYTORCH: "--cold"}[kind.program]
    return Work(kind.name,
                (*programs[kind.program], *kind.threads_option(THREADS)),
                kind.batch, pool.mountpoint / kind.format, suffix, (cold,),
                kind.direct, kind)

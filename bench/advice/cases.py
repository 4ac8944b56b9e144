"""The jobs whose advice is followed, and how a line of advice changes a job.
Pure."""

import dataclasses
import re

from bench.demo import mix
from bench.program import BenchError


LONG_S = 3600  # until it is cancelled


@dataclasses.dataclass(frozen=True)
class Case:
    """A job. Its ceiling takes `demand` loader cores; cold kinds read the pool
    in every epoch."""
    name: str
    program: str           # mix.TRAIN or mix.PYTORCH
    data: str              # jpeg, raw, tar or records
    demand: float
    workers: int | None    # None: the program's own choice
    cpus: int
    helps: bool = True     # whether something that can be advised helps
    cold: bool = False
    wait: float = 0        # of a sample, for its store; times its CPU time
    flags: tuple = ()      # of sbatch

    def command(self, programs, folders, cost_s, batch):
        """Returns the job's whole command line. cost_s: CPU time of a
        sample."""
        line = [*programs[self.program], "--data", *folders[self.data],
                "--batch", batch, "--accelerator-s-per-sample",
                f"{cost_s / self.demand:.9f}", "--duration", LONG_S]
        if self.workers is not None:
            option = {mix.TRAIN: "--threads", mix.PYTORCH: "--workers"}
            line += [option[self.program], self.workers]
        if self.cold:
            line += [{mix.TRAIN: "--direct", mix.PYTORCH: "--cold"}
                     [self.program]]
        if self.wait:
            line += ["--store-s", f"{self.wait * cost_s:.9f}"]
        return [str(word) for word in line]


def torch(name, data, demand, workers, cpus, **more):
    return Case(f"torch_{name}", mix.PYTORCH, data, demand, workers, cpus,
                **more)


def train(name, data, demand, workers, cpus, **more):
    return Case(f"train_{name}", mix.TRAIN, data, demand, workers, cpus, **more)


# On a node of two CPUs.
CASES = (
    torch("0_on_1", "jpeg", 1.5, 0, 1),
    torch("0_on_2", "jpeg", 1.5, 0, 2),
    torch("1_on_1", "jpeg", 1.5, 1, 1),
    torch("1_on_2", "jpeg", 1.5, 1, 2),
    torch("2_on_1", "jpeg", 1.5, 2, 1),
    torch("4_on_1", "jpeg", 3, 4, 1),
    torch("8_on_1", "jpeg", 1.5, 8, 1),
    torch("4_on_2", "jpeg", 3, 4, 2, helps=False),
    torch("1_ceiling", "jpeg", 0.5, 1, 1, helps=False),
    torch("2_ceiling", "jpeg", 0.5, 2, 2, helps=False),
    torch("8_ceiling", "jpeg", 0.5, 8, 2, helps=False),
    torch("1_store", "jpeg", 0.5, 1, 1, wait=4),
    torch("2_storage", "raw", 3, 2, 2, cold=True, helps=False),
    train("on_1", "jpeg", 1.5, None, 1),
    train("1_on_2", "jpeg", 1.5, 1, 2),
    train("ceiling", "jpeg", 0.5, None, 2, helps=False),
    train("storage", "raw", 3, None, 1, cold=True, helps=False),
    train("bandwidth", "raw", 0.7, None, 1, cold=True,
          flags=("--loader-bw=8M",)),
    train("tar", "tar", 1.5, None, 1),
    train("records", "records", 1.5, None, 1),
)


def demo_cases(demo):
    """Returns the demo's kinds as jobs on one CPU. demo: mix.Mix"""
    return tuple(Case(kind.name, kind.program, kind.format, kind.demand_slices,
                      None, 1, cold=kind.direct)
                 for kind in demo.kinds.values())


def follow(case, lines):
    """Returns the case with each line of a recommendation followed."""
    for line in lines:
        case = _follow(case, line)
    return case


def _follow(case, line):
    known = {
        r"(?:num_workers|threads)=(\d+)":
            lambda it: dataclasses.replace(case, workers=int(it)),
        r"#SBATCH --cpus-per-task=(\d+)":
            lambda it: dataclasses.replace(case, cpus=int(it)),
        r"#SBATCH (--loader-(?:threads|bw)=\w+)":
            lambda it: dataclasses.replace(case, flags=(
                *[one for one in case.flags
                  if one.split("=")[0] != it.split("=")[0]], it)),
    }
    for pattern, change in known.items():
        found = re.fullmatch(pattern, line)
        if found:
            return change(found.group(1))
    raise BenchError(f"{case.name}: nobody knows how to follow {line!r}")

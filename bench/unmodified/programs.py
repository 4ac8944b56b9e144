"""Whole training programs, to their end: with Penstock and without, beside a
lender that hardly computes."""

import dataclasses
import json
import shlex
import time

from bench.demo.session import MANAGED
from bench.program import BenchError

LIMIT_S = 1800
IDLE = ("--on", "5", "--off", "495")  # ms: 1% of a CPU


@dataclasses.dataclass(frozen=True)
class Program:
    name: str
    command: list

    @classmethod
    def parse(cls, text, data):
        """text: NAME=COMMAND, in which {data} stands for the pictures."""
        name, equals, command = text.partition("=")
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if not (name.isidentifier() and equals and words):
            raise BenchError(f"--program {text}: give NAME=COMMAND, such as "
                             "imagenet='python3 main.py -j 2 {data}'")
        return cls(name, [word.replace("{data}", str(data)) for word in words])


def make_pictures(folder, pictures, classes=2, checked=16):
    """Makes a folder as torchvision's ImageFolder and most examples expect it:
    train/CLASS/ and val/CLASS/, of links. Returns the folder."""
    files = sorted(pictures.glob("*.jpg"))
    for index in range(classes):
        (folder / "train").mkdir(parents=True, exist_ok=True)
        (folder / "train" / f"class{index}").symlink_to(pictures)
        few = folder / "val" / f"class{index}"
        few.mkdir(parents=True)
        for path in files[:checked]:
            (few / path.name).symlink_to(path)
    return folder


def run_to_end(session, program):
    """Returns (job, its seconds from start to end)."""
    managed = [MANAGED] if session.regime == "penstock" else []
    job = session.cluster.sbatch(program.command, cpus=1, flags=managed)
    session.cluster.wait_job(job, "RUNNING")
    begin_s = time.monotonic()
    session.progress.live(f"{session.regime}: {program.name}")
    session.cluster.wait_job(job, timeout=LIMIT_S)
    return job, time.monotonic() - begin_s


def once(session, jobs, busy, program, regime):
    """Returns (seconds, report); no report without Penstock."""
    session.enter(regime)
    flags = [MANAGED] if regime == "penstock" else []
    with jobs.running([busy, "--workers", "1", "--processes", *IDLE,
                       "--seconds", 2 * LIMIT_S], 1, flags):
        job, seconds = run_to_end(session, program)
        report = session.finished_report(job) if flags else None
    return seconds, report


def compare(session, jobs, busy, program, rounds):
    """Returns {figure: values} of a program."""
    found = {name: [] for name in ("gain_measured", "gain_stated",
                                   "gain_difference")}
    for number in range(rounds):
        order = ("stock", "penstock") if number % 2 else ("penstock", "stock")
        runs = {regime: once(session, jobs, busy, program, regime)
                for regime in order}
        report = runs["penstock"][1]
        measured = runs["stock"][0] / runs["penstock"][0] - 1
        stated = report["derived"]["lent_gain"]
        if stated is None:
            raise BenchError(f"{program.name}: its report has no lent_gain")
        session.progress.say(
            f"  {program.name}: {runs['stock'][0]:.1f} s, with Penstock "
            f"{runs['penstock'][0]:.1f} s; samples "
            f"{report['quality']['samples']}, counted by "
            f"{report['quality']['counted']}; lent CPUs +{stated:.3f}; "
            f"{report['derived']['verdict']}\n    "
            + json.dumps([one["lines"] for one in
                          report["derived"]["recommendations"]]))
        for name, value in zip(found, (measured, stated,
                                       abs(stated - measured))):
            found[name].append(value)
    return {f"{program.name}_{name}": values for name, values in found.items()}

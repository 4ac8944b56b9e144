"""python3 -m bench.advice, run by `penstock bench advice`. Runs jobs, does what
their reports advise, and compares. Prints figures as JSON, and its progress on
standard error."""

import pathlib
import statistics
import sys
import tarfile
import time

from bench import ROOT, script
from bench.advice.cases import CASES, follow
from bench.demo import data, job_log, lab, mix
from bench.demo.logged_jobs import LoggedJobs
from bench.demo.session import MANAGED
from bench.program import BenchError
from bench.script import figure

BATCH = 16
SETTLE_S = 5
MEASURE_S = 15
RECORD_BYTES = 3 * 224 * 224
RECORDS = 2048
NOISE = 0.03  # of two runs


def make_shards(folder, pictures):
    folder.mkdir(mode=0o755)
    files = sorted(pictures.glob("*.jpg"))
    for number in range(4):
        with tarfile.open(folder / f"{number}.tar", "w") as shard:
            for path in files[number::4]:
                shard.add(path, path.name)
    return sorted(folder.glob("*.tar"))


def make_records(path):
    data.write_noise(path, RECORDS * RECORD_BYTES // data.CHUNK_BYTES
                     * data.CHUNK_BYTES)
    return path


class Follower:
    """Runs cases under Penstock, which lends nothing idle."""

    def __init__(self, session, jobs, programs, folders):
        self._session = session
        self._jobs = jobs
        self._programs = programs
        self._folders = folders
        self._costs = {}

    def cost_s(self, case):
        """Returns the CPU time of a sample on one busy CPU."""
        kind = (case.program, case.data)
        if kind not in self._costs:
            alone = type(case)("cost", *kind, 1e6, 1, 1)
            rate, _ = self._run(alone, 1, "what a sample costs")
            self._costs[kind] = 1 / rate
            self._session.progress.say(f"  {' '.join(kind)}: "
                                       f"{1e3 / rate:.2f} ms of CPU a sample")
        return self._costs[kind]

    def run(self, case, what):
        """Returns (samples/s, report) of a job."""
        return self._run(case, self.cost_s(case), what)

    def _run(self, case, cost_s, what):
        line = case.command(self._programs, self._folders, cost_s, BATCH)
        with self._jobs.running(line, case.cpus, (MANAGED, *case.flags)) as (
                job, log):
            progress = self._session.progress
            progress.wait(SETTLE_S, f"{case.name}, {what}: settling")
            begin_s = time.monotonic()
            progress.wait(MEASURE_S, f"{case.name}, {what}: measuring")
            rate = job_log.rate(job_log.read(log), begin_s, time.monotonic())
        return rate, self._session.finished_report(job)


def judge(follower, case, rounds, progress):
    """Returns what the case adds to the figures."""
    befores, afters = [], []
    rate, report = follower.run(case, "as it is")
    befores.append(rate)
    given = report["derived"]["recommendations"]
    progress.say(f"{case.name}: {rate:.1f}/s; {report['derived']['verdict']}")
    if not given:
        progress.say("  no advice" + (": missed" if case.helps else ""))
        return {"missed": case.helps}
    first = given[0]
    # Advice that only saves CPUs promises an unchanged rate.
    told = first["gain"] or {"value": 0, "low": -NOISE, "high": NOISE}
    after = follow(case, first["lines"])
    for number in range(rounds):
        afters.append(follower.run(after, "as advised")[0])
        if number + 1 < rounds:
            befores.append(follower.run(case, "as it is")[0])
    gain = statistics.median(afters) / statistics.median(befores) - 1
    inside = told["low"] <= gain <= told["high"]
    progress.say(f"  {' + '.join(first['lines'])}: told {told['value']:+.2f} "
                 f"[{told['low']:+.2f} to {told['high']:+.2f}], measured "
                 f"{gain:+.2f}{'' if inside else ': OUTSIDE'}")
    return {"inside": inside, "slower": gain < -NOISE,
            "useless": not case.helps and first["gain"] is not None,
            "error": abs(gain - told["value"])}


def chosen_cases(names):
    known = {case.name: case for case in CASES}
    for name in names:
        if name not in known:
            raise BenchError(f"--case {name}: there are {', '.join(known)}")
    return [known[name] for name in names] or CASES


def staged_data(cluster, pool):
    """Returns the arguments that name each kind of data."""
    here = pathlib.Path(cluster.directory, "bin")
    return {"jpeg": [pool.mountpoint / "jpeg"],
            "raw": [pool.mountpoint / "raw"],
            "tar": make_shards(here / "shards", pool.mountpoint / "jpeg"),
            "records": [make_records(here / "records"), "--record-bytes",
                        RECORD_BYTES]}


def figures_of(found):
    followed = [it for it in found if "inside" in it]
    counts = {name: sum(it[name] for it in followed)
              for name in ("inside", "slower", "useless")}
    return [figure("followed", [len(followed)]),
            *[figure(name, [count]) for name, count in counts.items()],
            figure("missed", [sum(it.get("missed", 0) for it in found)]),
            *[figure("gain_error", [it["error"] for it in followed])
              ] * bool(followed)]


def run(arguments, progress):
    chosen = chosen_cases(arguments.case)
    with lab.opened(arguments.build, progress,
                    ("ReportMinTime=10", "LendIdle=no")) as (session, _):
        cluster = session.cluster
        programs = {
            mix.TRAIN: [cluster.expose(arguments.build / "bin" /
                                       "penstock-train")],
            mix.PYTORCH: ["/usr/bin/python3", cluster.expose(
                ROOT / "bench/demo/train_pytorch.py")]}
        session.enter("penstock")
        follower = Follower(session, LoggedJobs(cluster), programs,
                            staged_data(cluster, session.pool))
        found = [judge(follower, case, arguments.rounds, progress)
                 for case in chosen]
    return figures_of(found)


if __name__ == "__main__":
    sys.exit(script.main("advice", run, lab.FAILURES,
                         case={"action": "append", "default": []}))

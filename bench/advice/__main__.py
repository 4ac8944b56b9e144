"""python3 -m bench.advice, run by `penstock bench advice`. Runs jobs, does what
their reports and `penstock advise` say, and compares. Prints figures as JSON,
and its progress on standard error."""

import dataclasses
import json
import pathlib
import statistics
import sys
import tarfile
import time

from bench import ROOT, script
from bench.advice.cases import CASES, demo_cases, follow
from bench.advice.figures import figures_of
from bench.demo import data, job_log, lab, mix
from bench.demo.logged_jobs import LoggedJobs
from bench.demo.session import MANAGED
from bench.program import BenchError

BATCH = 16
SETTLE_S = 5
MEASURE_S = 15
RECORD_BYTES = 3 * 224 * 224
RECORDS = 2048
NOISE = 0.03  # of two runs
MOST_CPUS = lab.CPUS
MANY_WORKERS = 4  # more than that many CPUs can use


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

    def __init__(self, session, jobs, programs, folders, penstock):
        self._penstock = penstock
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

    def advised(self, case, job):
        """Returns what `penstock advise` says of the case's next run."""
        cluster = self._session.cluster
        done = cluster.command(
            self._penstock, "advise", "--json", "--config",
            f"{cluster.directory}/penstock.conf", "--like", str(job), "--",
            f"--cpus-per-task={case.cpus}", "--wrap=x", user=cluster.user)
        if done.returncode != 0:
            raise BenchError(f"penstock advise: {done.stderr}")
        return json.loads(done.stdout)

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


def judge_choice(follower, case, rate, progress):
    """Returns what the choice of CPUs adds to the figures: the share of the rate
    with more CPUs that is kept, or whether a CPU fewer would do. rate: of the
    case, which follows the advice."""
    if case.cpus < MOST_CPUS:
        more = dataclasses.replace(case, cpus=MOST_CPUS, workers=MANY_WORKERS)
        other, _ = follower.run(more, "with more CPUs")
        kept = rate / max(rate, other)
        progress.say(f"  with {MOST_CPUS} CPUs {other:.1f}/s: {kept:.3f} kept")
        return {"kept": kept}
    other, _ = follower.run(dataclasses.replace(case, cpus=case.cpus - 1),
                            "with a CPU fewer")
    needless = other >= (1 - NOISE) * rate
    progress.say(f"  with a CPU fewer {other:.1f}/s"
                 f"{': one too many' if needless else ''}")
    return {"needless": needless}


def judge_kind(follower, case, progress):
    """Returns what a demo's kind adds: it follows `penstock advise`."""
    rate, report = follower.run(case, "as it is")
    lines = follower.advised(case, report["job_id"])["lines"]
    progress.say(f"{case.name}: {rate:.1f}/s; {' + '.join(lines) or 'as it is'}")
    after = follow(case, lines)
    if lines:
        rate, _ = follower.run(after, "as advised")
    return judge_choice(follower, after, rate, progress)


def judge(follower, case, rounds, progress):
    """Returns what the case adds to the figures."""
    befores, afters = [], []
    rate, report = follower.run(case, "as it is")
    befores.append(rate)
    given = report["derived"]["recommendations"]
    lines = follower.advised(case, report["job_id"])["lines"]
    progress.say(f"{case.name}: {rate:.1f}/s; {report['derived']['verdict']}")
    if not given:
        progress.say("  no advice" + (": missed" if case.helps else "") + (
            f"; before a submission: {' + '.join(lines)}" if lines else ""))
        return {"missed": case.helps, "same": not lines,
                **judge_choice(follower, follow(case, lines), rate, progress)}
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
    # Bandwidth is not among what a submission is advised.
    is_of_cores = not any("--loader-bw" in line for line in first["lines"])
    choice = judge_choice(follower, after, statistics.median(afters),
                          progress) if is_of_cores else {}
    return {**choice, "same": not is_of_cores or lines == first["lines"],
            "inside": inside, "slower": gain < -NOISE,
            "useless": not case.helps and first["gain"] is not None,
            "error": abs(gain - told["value"])}


def chosen_cases(names, kinds):
    known = {case.name: case for case in (*CASES, *kinds)}
    for name in names:
        if name not in known:
            raise BenchError(f"--case {name}: there are {', '.join(known)}")
    return [known[name] for name in names or known]


def staged_data(cluster, pool):
    """Returns the arguments that name each kind of data."""
    here = pathlib.Path(cluster.directory, "bin")
    return {"jpeg": [pool.mountpoint / "jpeg"],
            "raw": [pool.mountpoint / "raw"],
            "tar": make_shards(here / "shards", pool.mountpoint / "jpeg"),
            "records": [make_records(here / "records"), "--record-bytes",
                        RECORD_BYTES]}


def run(arguments, progress):
    kinds = demo_cases(mix.load(ROOT / "bench" / "demo" / "mix.json", lab.CPUS))
    chosen = chosen_cases(arguments.case, kinds)
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
                            staged_data(cluster, session.pool),
                            cluster.expose(arguments.build / "bin/penstock"))
        found = [judge_kind(follower, case, progress) if case in kinds
                 else judge(follower, case, arguments.rounds, progress)
                 for case in chosen]
    return figures_of(found)


if __name__ == "__main__":
    sys.exit(script.main("advice", run, lab.FAILURES,
                         case={"action": "append", "default": []}))

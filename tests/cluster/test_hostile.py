"""An ordinary user's job attacks Penstock, its controller and its own job in
all ways of tests/hostile, beside a pair of jobs that lend: penstockd answers in
time, other users' jobs lose nothing, and nothing is left behind.

The pair has two CPUs. With a third one the attacker is a job of the same node.
Else it is a job of a second node with a penstockd of its own, on the same CPUs;
it attacks both penstockds.

PENSTOCK_HOSTILE_SECONDS: time of each attack. From 3 s on, the pair's rates are
measured, too: each attack lies between two windows without. There the
attacker's CPU time must not count. So on shared CPUs it has the weight of lent
threads, in a control group in which another process computes all the time: the
group uses as much CPU time in every window. What the test finds is the rest:
what the kernel and Penstock's daemons do for the attacker."""

import contextlib
import dataclasses
import glob
import json
import math
import os
import pathlib
import pwd
import shutil
import socket
import statistics
import subprocess
import sys
import time
import unittest

import answer_probe
import cluster_case
import embedded
import hierarchy
import quiet
import test_nodes
from fuse_device import fuse_device

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from hostile.table import ATTACKS  # noqa: E402  pylint: disable=C0413

SECONDS = (float(os.environ.get("PENSTOCK_HOSTILE_SECONDS", "0.7"))
           * embedded.PATIENCE)
IS_MEASURED = SECONDS >= 3 and embedded.PATIENCE == 1
ANSWER_MS = 250
KEPT = 0.97  # of the pair's rates
LEAST_ATTACKS = 40  # that this machine must let users try
LOAN_WAIT_S = 75  # a returned loan is not repeated for 60 s
# An emulated CPU takes more than ten times as long for a sample, and a lender
# whose CPU is full lends nothing.
SLOWER = 1 if embedded.PATIENCE == 1 else 12
LOOK_S = 2
BUSY = "NOT MEASURED: others use the machine's CPUs"
OWN_NODE = os.cpu_count() < 3
COMPUTE = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1000000):
        pass
"""


@dataclasses.dataclass
class Window:
    """What was done between two moments; attack "": nothing."""
    attack: str
    begun: float
    ended: float = 0
    told: dict = dataclasses.field(default_factory=dict)


def course(log):
    """Times and samples of a penstock-train's log."""
    lines = log.read_text("utf-8").splitlines()
    points = [json.loads(line) for line in lines if line.endswith("}")]
    return [(point["t_monotonic"], point["samples"]) for point in points]


def samples_at(points, moment):
    """The number of samples at a moment, from the lines before and after."""
    for (before, low), (after, high) in zip(points, points[1:]):
        if moment <= after:
            return low + (high - low) * (moment - before) / (after - before)
    raise ValueError(f"the log ends before {moment}")


def rate(points, window):
    return ((samples_at(points, window.ended)
             - samples_at(points, window.begun))
            / (window.ended - window.begun))


class Hostile(test_nodes.NodesCase):
    cluster_options = {"nodes": 1 + OWN_NODE, "users": 2,
                       "agent_lines": ("LendIdle=no",)}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.victim, cls.attacker = cls.cluster.users
        cls.node, cls.attacked = cls.cluster.nodes[0], cls.cluster.nodes[-1]
        tools = pathlib.Path(cls.cluster.directory, "bin")
        shutil.copytree(TESTS / "hostile", tools / "hostile")
        shutil.copy(TESTS / "cluster" / "protocol.py", tools)
        cls.fuse = fuse_device(tools)

    # -- the pair --------------------------------------------------------------

    def start_pair(self, suffix):
        pair = []
        for name, slices in (("lender", 1 / 3), ("borrower", 4)):
            ceiling = slices / (test_nodes.CPU_S_PER_SAMPLE * SLOWER)
            pair.append(self.submit(
                name + suffix, ceiling, [self.node], self.trainer(
                    name + suffix, ceiling, seconds=3600, batch=16)))
        return pair

    def wait_away(self, borrower):
        self.wait("a thread to be away", lambda: hierarchy.away_threads(
            self.node, borrower), LOAN_WAIT_S)

    def others_cores(self):
        """Cores that programs outside this cluster use now."""
        others = quiet.Others(self.cluster.node)
        time.sleep(LOOK_S)
        return others.cores()

    @contextlib.contextmanager
    def measures(self, what, others_cores):
        """A failure while others compute proves nothing."""
        with self.subTest(what):
            try:
                yield
            except (AssertionError, embedded.ClusterError) as error:
                if others_cores <= quiet.OTHERS_CORES:
                    raise
                self.skipTest(f"{BUSY}: {str(error).splitlines()[0]}")

    # -- the attacker ----------------------------------------------------------

    def site(self, pair, orders):
        """What the attacker may know."""
        cluster = self.cluster
        nodes = dict.fromkeys((self.attacked, self.node))
        return {
            "orders": orders, "home": cluster.home(self.attacker),
            "sockets": [cluster.socket_of(node) for node in nodes],
            "controllers": cluster.controllers, "fuse": str(self.fuse),
            "munge": f"{cluster.directory}/munge.sock",
            "reports": f"{cluster.directory}/reports",
            "state": [f"{cluster.directory}/run.{node}" for node in nodes],
            "victims": pair,
            "strangers": [cluster.daemon_pid(f"penstockd.{self.node}"),
                          cluster.controller_pid(),
                          *hierarchy.job_threads(self.node, pair[1])[:20]]}

    def start_attacker(self, pair):
        """The attacker's job: the lines of its orders, and its pid."""
        folder = f"{self.cluster.directory}/bin"
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        orders = f"{folder}/orders.{time.monotonic_ns()}"
        listener.bind(orders)
        os.chmod(orders, 0o666)
        listener.listen()
        listener.settimeout(60 * embedded.PATIENCE)
        path = pathlib.Path(folder, "site.json")
        path.write_text(json.dumps(self.site(pair, orders)), "utf-8")
        job = self.cluster.sbatch(
            ["/usr/bin/python3", "-B", "-m", "hostile", path], gpus=0,
            user=self.attacker,
            env={"PYTHONPATH": folder,
                 "PENSTOCK_EMULATED": str(embedded.PATIENCE)},
            flags=["--loader=auto", "--loader-threads=1",
                   f"--nodelist={self.attacked}"])
        self.addCleanup(self.cluster.cancel, str(job))
        channel, _ = listener.accept()
        self.addCleanup(channel.close)
        channel.settimeout((SECONDS + 60) * embedded.PATIENCE)
        lines = channel.makefile("rw", encoding="utf-8")
        self.addCleanup(lines.close)
        return job, lines, json.loads(lines.readline())["pid"]

    @property
    def group(self):
        return pathlib.Path(hierarchy.ROOT, "cpu",
                            f"penstock_{self.cluster.node}_bench")

    @contextlib.contextmanager
    def weighed(self, job, pid):
        """Puts the attacker into a group with the weight of lent threads and
        with a process that computes all the time."""
        self.group.mkdir()
        (self.group / "cpu.idle").write_text("1", "ascii")
        filler = subprocess.Popen([sys.executable, "-c", COMPUTE])
        try:
            os.sched_setaffinity(filler.pid, hierarchy.cpus_in(
                hierarchy.held_by(self.attacked, job)))
            os.sched_setscheduler(filler.pid, os.SCHED_IDLE, os.sched_param(0))
            for each in (pid, filler.pid):
                (self.group / "cgroup.procs").write_text(str(each), "ascii")
            yield
        finally:
            filler.kill()
            filler.wait()

    # -- windows ---------------------------------------------------------------

    def attack_all(self, lines, probes):
        """Orders each attack once; the windows."""
        windows = []
        for name in ATTACKS:
            if IS_MEASURED:
                windows.append(self.calm())
            window = Window(name, time.monotonic())
            lines.write(json.dumps({"attack": name, "seconds": SECONDS}) + "\n")
            lines.flush()
            window.told = self.reply(lines)
            window.ended = time.monotonic()
            windows.append(window)
            for probe in probes:
                probe.collect()
        if IS_MEASURED:
            windows.append(self.calm())
        return windows

    def reply(self, lines):
        try:
            return json.loads(lines.readline() or "{}")
        except TimeoutError:
            # Beside other programs a group with that weight gets no CPU.
            if IS_MEASURED and self.others_cores() > quiet.OTHERS_CORES:
                self.skipTest(BUSY)
            raise

    def calm(self):
        begun = time.monotonic()
        time.sleep(SECONDS)
        return Window("", begun, time.monotonic())

    def show(self, windows, probes, kept):
        print(f"{'attack':24} {'count':>9} {'':14} {'slowest':>10}  kept of "
              "the lender's and the borrower's rate")
        for window in windows:
            if not window.attack:
                continue
            entry, told = ATTACKS[window.attack], window.told
            slowest = max(probe.slowest_ms(window.begun, window.ended)
                          for probe in probes)
            rates = "".join(f" {ratio:5.3f}" for ratio in
                            kept.get(window.attack, ()))
            result = told.get("count", "-")
            print(f"{entry.name:24} {result:>9} {entry.counts:14} "
                  f"{slowest:7.1f} ms {rates}")
            print(f"    {entry.tries}" + "".join(
                f"\n    {key}: {text}" for key, text in told.items()
                if key != "count"))
        sys.stdout.flush()

    def kept_rates(self, windows):
        """{attack: its rates / those of the windows before and after}."""
        logs = [course(pathlib.Path(self.cluster.home(), f"{name}.0.log"))
                for name in ("lender", "borrower")]
        return {window.attack: [
            2 * rate(log, window) / (rate(log, before) + rate(log, after))
            for log in logs]
            for before, window, after in zip(windows, windows[1:], windows[2:])
            if window.attack}

    # -- the tests -------------------------------------------------------------

    @unittest.skipUnless(os.path.exists("/proc/self/autogroup"),
                         "SKIPPED: a kernel without autogroups")
    def test_penstockd_its_guardian_and_brokers_run_before_jobs(self):
        pid = self.cluster.daemon_pid(f"penstockd.{self.node}")
        children = pathlib.Path(
            f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
        self.assertGreaterEqual(len(children), 3)
        for each in [pid, *children]:
            self.assertRegex(pathlib.Path(
                f"/proc/{each}/autogroup").read_text("ascii"), "nice -10\n$")

    def test_no_attack_delays_answers_costs_others_or_leaves_anything(self):
        left_before = self.leavings()
        pair = self.start_pair("")
        job, lines, pid = self.start_attacker(pair)
        others = self.others_cores()
        if IS_MEASURED:
            if others > quiet.OTHERS_CORES:
                self.skipTest(BUSY)
            self.wait_away(pair[1])
        with contextlib.ExitStack() as stack:
            if IS_MEASURED and OWN_NODE:
                stack.enter_context(self.weighed(job, pid))
            probes = [stack.enter_context(answer_probe.AnswerProbe(path, uid))
                      for path in self.sockets() for uid in (
                          0, pwd.getpwnam(self.victim).pw_uid)]
            windows = self.attack_all(lines, probes)
        others = max(others, self.others_cores())
        kept = self.kept_rates(windows) if IS_MEASURED else {}
        self.show(windows, probes, kept)
        self.check_attacks(windows)
        self.cluster.cancel(str(job), *map(str, pair))
        self.check_nothing_left(left_before, {job, *pair})
        with self.measures("answers", others):
            self.check_answers(windows, probes)
        with self.measures("rates", others):
            self.check_rates(kept)
        with self.measures("a later pair", others):
            self.wait_away(self.start_pair("2")[1])

    def sockets(self):
        """Of all penstockds."""
        return list(map(self.cluster.socket_of, self.cluster.nodes))

    def check_attacks(self, windows):
        told = {window.attack: window.told for window in windows
                if window.attack}
        failed = {name: result for name, result in told.items()
                  if "broke" in result or "error" in result or not result}
        self.assertEqual(failed, {})
        done = [name for name, result in told.items() if "count" in result]
        for name in done:
            self.assertGreater(told[name]["count"], 0, name)
        self.assertGreaterEqual(len(done), LEAST_ATTACKS)

    def check_answers(self, windows, probes):
        times = sorted(ms for probe in probes for ms in probe.times_ms(
            windows[0].begun, windows[-1].ended))
        print(f"{len(times)} answers: median {statistics.median(times):.1f} ms,"
              f" p99 {times[int(0.99 * len(times))]:.1f} ms,"
              f" slowest {times[-1]:.1f} ms", flush=True)
        self.assertLess(times[-1], math.inf)
        self.check_time(times[-1], ANSWER_MS)

    def check_rates(self, kept):
        for index, name in enumerate(("lender", "borrower") if kept else ()):
            median = statistics.median(ratios[index]
                                       for ratios in kept.values())
            print(f"the {name} keeps {median:.3f} of its rate", flush=True)
            self.assertGreaterEqual(median, KEPT, name)

    # -- what is left ----------------------------------------------------------

    def leavings(self):
        """What no job should change for good: groups and files."""
        folders = [*(f"{self.cluster.directory}/run.{node}"
                     for node in self.cluster.nodes),
                   f"{self.cluster.directory}/reports"]
        attacker = pwd.getpwnam(self.attacker).pw_uid
        return {*self.cluster.penstock_cgroups(),
                *(entry.path for folder in folders
                  for entry in os.scandir(folder)),
                *(path for path in glob.glob("/dev/shm/*")
                  if owner_of(path) == attacker)}

    def check_nothing_left(self, before, jobs):
        self.cluster.wait_empty()
        uid = pwd.getpwnam(self.attacker).pw_uid
        self.wait("the attacker's processes to be gone",
                  lambda: not processes_of(uid))
        if self.group.exists():
            self.group.rmdir()
        self.wait("penstockd's groups to be removed",
                  lambda: not self.cluster.penstock_cgroups())
        self.wait("penstockd to have no tasks", lambda: not any(
            self.cluster.status_of(node)["jobs"]
            for node in self.cluster.nodes))
        reports = {f"{self.cluster.directory}/reports/{job}" for job in jobs}
        # An agent's files of its own may be new, too.
        self.assertEqual([path for path in sorted(self.leavings() - before)
                          if not path.startswith(tuple(reports))
                          and not path.endswith(("/tasks.json", "/term"))], [])
        if hierarchy.UNIFIED:
            self.wait("Slurm's groups to be gone",
                      lambda: not hierarchy.left_in_scopes(self.node))


def owner_of(path):
    """A user id; None if the file has just gone."""
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def processes_of(uid):
    return [path for path in glob.glob("/proc/[0-9]*") if owner_of(path) == uid]


if __name__ == "__main__":
    cluster_case.main()

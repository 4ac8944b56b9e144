"""Penstock's daemons are killed at random moments, under a pair of jobs that
lend and a changing load of short jobs, and are restarted as systemd would. No
job fails, loses a batch or gets slower than without Penstock, and nothing of
ours is left on the node of a killed daemon.

PENSTOCK_KILLS is the number of kills, PENSTOCK_KILLS_SEED repeats a run. With
100 kills or more, the pair's rates are compared with those of the same jobs
without penstockd, in turns."""

import collections
import fcntl
import itertools
import json
import os
import pathlib
import pwd
import random
import secrets
import signal
import statistics
import time

import agent_parts
import cluster_case
import embedded
import hierarchy
import node_changes
import quiet
import short_jobs
import test_nodes

KILLS = int(os.environ.get("PENSTOCK_KILLS", max(1, 20 // embedded.PATIENCE)))
SEED = int(os.environ.get("PENSTOCK_KILLS_SEED", secrets.randbelow(1 << 32)))
IS_LONG = KILLS >= 100
KILLS_S = 60 if IS_LONG else 10  # length of a pair that is under fire
STATIC_S = 8 if IS_LONG else 2  # of a pair without penstockd
BATCH = 16
SLICES = {"lender": 1 / 3, "borrower": 4}
CONTROLLER_SHARE = 0.1
HANG_SHARE = 0.05
LOAN_SHARE = 0.3  # of kills that wait for a loan
LOAN_WAIT_S = 2
FIRST_LOAN_WAIT_S = 8
HANG_S = (3.2, 4.5)  # longer than the guardian's patience
JOB_WAIT_S = 300  # for a job on a busy machine
FLOOR = 0.97  # of the median ratio of rates, as in test_floors.py


class Kills(test_nodes.NodesCase):
    # A short period, because a loan takes some periods.
    cluster_options = {"nodes": 2, "agent_lines": ("SamplePeriod=100",)}

    def setUp(self):
        super().setUp()
        print(f"PENSTOCK_KILLS={KILLS} PENSTOCK_KILLS_SEED={SEED}", flush=True)
        self.random = random.Random(SEED)
        self.node, other = self.cluster.nodes
        self.load = short_jobs.ShortJobs(self, other, self.random)
        self.names = itertools.count()
        self.kills = collections.Counter()
        self.found = collections.Counter()  # what a kill left to be restored
        self.ended_by_itself = 0
        self.others_cores = []

    # -- jobs -----------------------------------------------------------------

    def result_path(self, name):
        return f"{self.cluster.home()}/{name}.json"

    def train_for(self, name, batches, ceiling, batch, extra=()):
        """The command of a trainer with a known number of batches."""
        return [self.train, "--data", self.data, "--batch", str(batch),
                "--accelerator-s-per-sample", str(1 / ceiling), "--samples",
                str(batch * batches), "--json", self.result_path(name), *extra]

    def start(self, name, batches, command, node, flags=(), **more):
        number = self.cluster.sbatch(
            command, flags=[f"--nodelist={node}", "--loader=auto", *flags],
            **more)
        return short_jobs.Job(number, name, batches)

    def result(self, job):
        """The job's own summary, after its end without a fault."""
        self.cluster.wait_job(job.number, timeout=JOB_WAIT_S)
        self.assertEqual(self.cluster.job(job.number)["ExitCode"], "0:0")
        summary = json.loads(
            pathlib.Path(self.result_path(job.name)).read_text("utf-8"))
        self.assertEqual(summary["steps"], job.batches, job.name)
        return summary

    def start_pair(self, seconds, rates):
        """A lender and a borrower for `seconds` at these rates (samples/s)."""
        number = next(self.names)
        pair = {}
        for kind, slices in SLICES.items():
            name = f"{kind}{number}"
            ceiling = slices / test_nodes.CPU_S_PER_SAMPLE
            batches = max(1, round(rates[kind] * seconds / BATCH))
            pair[kind] = self.start(
                name, batches, self.train_for(name, batches, ceiling, BATCH),
                self.node, [f"--loader-model={self.profile(name, ceiling)}"])
        for job in pair.values():
            self.cluster.wait_job(job.number, "RUNNING")
        return pair

    def are_running(self, pair):
        """Whether both of the pair are; tends the short jobs and the
        daemons."""
        self.restart_ended()
        queued = self.queued()
        self.load.tend(queued)
        return queued >= {job.number for job in pair.values()}

    def queued(self):
        """Numbers of the jobs that have not ended."""
        while True:
            done = self.cluster.command("squeue", "-h", "-o", "%A")
            if done.returncode == 0:
                return set(map(int, done.stdout.split()))

    def finish(self, pair):
        """Rates of both: {"lender": samples/s, "borrower": samples/s}."""
        rates = {}
        for kind, job in pair.items():
            summary = self.result(job)
            rates[kind] = summary["rate_samples_per_s"]
        return rates

    # -- rounds ---------------------------------------------------------------

    def static_round(self, rates):
        """The pair's rates without penstockd."""
        for node in self.cluster.nodes:
            self.assertEqual(self.cluster.stop_agent_of(node), 0)
            self.check_restored(node)
        others = quiet.Others(self.cluster.node)
        pair = self.start_pair(STATIC_S, rates)
        while self.are_running(pair):
            pass
        found = self.finish(pair)
        self.others_cores.append(others.cores())
        for node in self.cluster.nodes:
            self.cluster.launch_agent_of(node)
        return found

    def kill_round(self, rates):
        """The pair's rates while daemons are killed."""
        self.wait("both agents", lambda: all(map(self.answers,
                                                 self.cluster.nodes)))
        pair = self.start_pair(KILLS_S, rates)
        while self.kills.total() < KILLS and self.are_running(pair):
            self.strike(pair["borrower"])
        while self.are_running(pair):
            pass
        return self.finish(pair)

    def answers(self, node):
        self.restart_ended()
        try:
            return self.cluster.status_of(node) is not None
        except OSError:
            return False

    # -- kills ----------------------------------------------------------------

    def strike(self, borrower):
        """Kills a process at a random moment; restarts what ends."""
        time.sleep(self.random.choice(
            [0, self.random.uniform(0, 0.3), self.random.uniform(0, 1)]))
        if self.random.random() < CONTROLLER_SHARE:
            self.kill("penstockctld", self.cluster.controller_pid())
            self.cluster.stop_controller(number=signal.SIGKILL)
            self.cluster.start_controller()
            return
        node = self.random.choice(self.cluster.nodes)
        if self.random.random() < LOAN_SHARE:
            self.wait_for_loan(borrower)
        self.restart_ended()
        daemon = self.cluster.daemon_pid(f"penstockd.{node}")
        parts = agent_parts.parts_of(daemon)
        role = self.random.choice(sorted(parts))
        self.found.update(node_changes.kinds(node))
        self.kill(role, parts[role])
        self.wait(f"penstockd to end after its {role}",
                  lambda: self.cluster.has_ended(f"penstockd.{node}"))
        status = self.cluster.stop_agent_of(node)
        self.assertEqual(status, -signal.SIGKILL if role == "penstockd" else 1)
        if self.random.random() < 0.5:
            self.wait("its parts to end", lambda: all(
                map(agent_parts.has_ended, parts.values())))
            self.check_restored(node)
        self.cluster.launch_agent_of(node)

    def restart_ended(self):
        """Restarts a penstockd that has ended by itself: its broker does not
        answer while the kernel holds all moves up."""
        self.assertFalse(self.cluster.has_ended("penstockctld0"))
        for node in self.cluster.nodes:
            if (self.cluster.is_started(f"penstockd.{node}")
                    and self.cluster.has_ended(f"penstockd.{node}")):
                self.assertEqual(self.cluster.stop_agent_of(node), 1)
                self.assertIn("no answer in time",
                              self.cluster.logs(f"penstockd.{node}"))
                self.ended_by_itself += 1
                self.cluster.launch_agent_of(node)

    def wait_for_loan(self, borrower):
        until = time.monotonic() + (LOAN_WAIT_S if self.found["loan"] else
                                    FIRST_LOAN_WAIT_S)
        while (time.monotonic() < until and not hierarchy.away_threads(
                self.node, borrower.number)):
            time.sleep(0.02)

    def kill(self, role, pid):
        if self.random.random() < HANG_SHARE:
            self.kills[f"{role}, stopped before"] += 1
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.random.uniform(*HANG_S))
        else:
            self.kills[role] += 1
        os.kill(pid, signal.SIGKILL)

    # -- what is left ---------------------------------------------------------

    def check_restored(self, node):
        """Fails if anything of ours is left on a node without penstockd."""
        self.assertEqual(node_changes.groups_and_marks(node), [])
        # A step that starts has other masks for a moment.
        self.wait(f"the masks on {node}: {node_changes.odd_threads(node)}",
                  lambda: not node_changes.odd_threads(node), 5)

    def check_nothing_left(self):
        self.cluster.wait_empty()
        user = pwd.getpwnam(self.cluster.user).pw_uid
        self.wait("files in shared memory to be removed", lambda: not list(
            pathlib.Path("/dev/shm").glob(f"penstock-cache-{user}/*")))
        for node in self.cluster.nodes:
            self.wait(f"penstockd of {node}", lambda node=node:
                      self.answers(node))
            self.assertEqual(self.cluster.stop_agent_of(node), 0)
            self.assertEqual(hierarchy.our_groups(node), [])
        self.cluster.stop_controller()
        self.wait("our processes to end", lambda: not self.our_processes())
        for node in self.cluster.nodes:
            with open(f"{self.cluster.directory}/run.{node}/lock",
                      "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def our_processes(self):
        names = [hierarchy.content(f"/proc/{pid}/comm") for pid in
                 hierarchy.pids(self.cluster.node)]
        return [name for name in names if name.startswith("penstock")]

    # -- the test -------------------------------------------------------------

    def test_no_kill_costs_a_job_anything(self):
        rates = {"lender": 333, "borrower": 700}
        static, hit = [self.static_round(rates)], []
        while self.kills.total() < KILLS:
            hit.append(self.kill_round(static[-1]))
            if IS_LONG:
                static.append(self.static_round(static[-1]))
                print(self.kills.total(), static[-2:], hit[-1], flush=True)
        self.load.finish()
        self.check_nothing_left()
        print(f"{self.kills.total()} kills: {dict(self.kills)}; of nodes with "
              f"{dict(self.found)}; {self.load.count} short jobs; penstockd "
              f"ended {self.ended_by_itself} times by itself", flush=True)
        if not self.found["loan"]:
            print("NOT MEASURED: no CPU was idle enough to be lent", flush=True)
        if IS_LONG:
            self.check_rates(static, hit)

    def check_rates(self, static, hit):
        ratios = {kind: [under[kind] / statistics.mean((a[kind], b[kind]))
                         for under, a, b in zip(hit, static, static[1:])]
                  for kind in SLICES}
        medians = {kind: statistics.median(found)
                   for kind, found in ratios.items()}
        print(f"rates under kills / without penstockd: {ratios}; medians: "
              f"{medians}; others' cores: {self.others_cores}", flush=True)
        if statistics.median(self.others_cores) > quiet.OTHERS_CORES:
            print("NOT MEASURED: others use the machine's CPUs", flush=True)
            return
        for kind, ratio in medians.items():
            self.assertGreaterEqual(ratio, FLOOR, kind)


if __name__ == "__main__":
    cluster_case.main()

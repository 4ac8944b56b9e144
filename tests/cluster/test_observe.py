"""Mode=observe: Penstock watches, plans and reports, and changes nothing. Mode
lines choose the jobs, and a reload changes them while they run."""

import json
import os
import pathlib
import re
import shutil
import signal
import unittest

import agent_case
import embedded
import hierarchy

OBSERVED = ("Mode=observe",)
TRACED = ("open,openat,openat2,creat,write,pwrite64,writev,sendfile,mkdir,"
          "mkdirat,rmdir,unlink,unlinkat,rename,renameat2,setxattr,lsetxattr,"
          "fsetxattr,removexattr,lremovexattr,fremovexattr,"
          "sched_setaffinity,sched_setscheduler,sched_setparam,sched_setattr,"
          "ioprio_set")
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
# Contents that only count, or change with the job's processes.
COUNTS = re.compile(
    r"stat|usage|pressure|tasks|procs|events|time|serviced|service_bytes|merged"
    r"|queued|throttled|current|max_usage|failcnt|numa|cpuacct|sectors|kmem"
    r"|event_control|peak|memory_migrate|state")


def is_in_share(job_id, percent):
    """As common/mode_rules.h has it."""
    value = job_id
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return (value ^ value >> 16) < percent / 100 * 2 ** 32


class ObserveCase(agent_case.AgentCase):
    def would_have(self, job):
        status = self.job_status(job)
        return status and status.get("would_have")

    def wait_imagined(self, job, cores):
        """Until the job would borrow this many cores on average."""
        self.wait(f"job {job} to be measured", lambda: (
            (self.would_have(job) or {}).get("borrowed_cores", 0) >= cores), 30)
        return self.would_have(job)

    def check_untouched(self, *jobs):
        self.assertEqual(self.cluster.penstock_cgroups(), [])
        for job in jobs:
            self.assertEqual(self.away_threads(job), [])
            self.assertEqual(hierarchy.changes(self.cluster.node, job), [])

    def masks(self, job):
        """The affinity of each of the job's threads."""
        found = {}
        for tid in hierarchy.job_threads(self.cluster.node, job):
            try:
                found[tid] = sorted(os.sched_getaffinity(tid))
            except ProcessLookupError:
                pass
        return found


    def check_masks(self, job, before):
        """Fails if a thread of then has another mask now."""
        now = self.masks(job)
        self.assertEqual({tid: now[tid] for tid in before if tid in now},
                         {tid: mask for tid, mask in before.items()
                          if tid in now})


@unittest.skipIf(os.cpu_count() < 2, "SKIPPED: one CPU")
@unittest.skipIf(shutil.which("strace") is None, "SKIPPED: no strace")
class NothingChanges(ObserveCase):
    cluster_options = {"agent": False}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.trace = pathlib.Path(cls.cluster.directory, "trace")
        start = cls.cluster._start_daemon

        def start_traced(name, *argv, env=None):
            if name == "penstockd":
                argv = ("strace", "-D", "-f", "-y", "-qq", "-o", cls.trace,
                        "-e", f"trace={TRACED}", *argv)
            start(name, *argv, env=env)

        cls.cluster._start_daemon = start_traced

    def settings_of(self, *jobs):
        """The contents of all files of the jobs' groups but the counters; the
        jobs are numbered by their order."""
        found = {}
        for number, job in enumerate(jobs):
            for top in hierarchy.job_tops(self.cluster.node, job):
                for folder, _, names in os.walk(top):
                    place = folder.replace(f"job_{job}", f"job {number}")
                    for name in names:
                        if COUNTS.search(name):
                            continue
                        try:
                            found[f"{place}/{name}"] = pathlib.Path(
                                folder, name).read_bytes()
                        except OSError:  # write-only
                            pass
        return found

    def written(self):
        """Lines of the trace that change a group or a thread."""
        # The first half of an interrupted call has its arguments.
        return [line for line in
                self.trace.read_text("utf-8", "replace").splitlines()
                if "<... " not in line and (
                    re.search(r"sched_set\w+\((?!0,)", line)  # 0: itself
                    or "ioprio_set" in line
                    or "/sys/fs/cgroup" in line and not (
                        re.search(r" open(at2?)?\(", line)
                        and not WRITES.search(line)))]

    def test_no_group_and_no_mask_changes(self):
        lender = self.submit("lenderT", 1 / 3)
        borrower = self.submit("borrowerT", 4)
        self.wait("both to train", lambda: self.rate("borrowerT", 1) > 0)
        without = self.settings_of(lender, borrower)
        self.assertGreater(len(without), 20)
        self.cluster.cancel(lender, borrower)
        self.cluster.wait_empty()
        self.cluster.start_agent(lines=OBSERVED)
        lender = self.submit("lenderU", 1 / 3)
        borrower = self.submit("borrowerU", 4)
        self.wait("both to train", lambda: self.rate("borrowerU", 1) > 0)
        masks = [self.masks(job) for job in (lender, borrower)]
        self.wait_imagined(borrower, 0.3)
        self.check_untouched(lender, borrower)
        self.assertEqual(self.settings_of(lender, borrower), without)
        for job, before in zip((lender, borrower), masks, strict=True):
            self.check_masks(job, before)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()
        self.wait("the report", lambda: self.reports(borrower))
        report = json.loads(pathlib.Path(
            self.cluster.directory, "reports", str(borrower),
            f"{self.cluster.node}.json").read_text("utf-8"))
        self.assertGreater(report["would_have"]["borrowed_cores"], 0.2)
        self.assertGreater(report["would_have"]["saved_s"]["value"], 0)
        self.assertEqual(report["cores"]["used_away"], 0)
        self.assertIn("observed",
                      [part["why"] for part in report["cores"]["not_lent"]])
        self.assertEqual(self.cluster.stop_agent(), 0)
        self.assertEqual(self.written(), [])
        # And without penstockd again.
        lender = self.submit("lenderV", 1 / 3)
        borrower = self.submit("borrowerV", 4)
        self.wait("both to train", lambda: self.rate("borrowerV", 1) > 0)
        self.assertEqual(self.settings_of(lender, borrower), without)


@unittest.skipIf(os.cpu_count() < 2, "SKIPPED: one CPU")
class ModeLines(ObserveCase):
    cluster_options = {"agent": True, "accounts": True,
                       "agent_lines": OBSERVED}

    def setUp(self):
        super().setUp()
        self.conf = pathlib.Path(self.cluster.directory, "penstock.conf")
        self.addCleanup(self.use, *OBSERVED)

    def use(self, *lines):
        """Makes these the Mode lines, by a reload."""
        rest = [line for line in self.conf.read_text("utf-8").splitlines()
                if not line.startswith("Mode=")]
        self.conf.write_text("\n".join([*rest, *lines, ""]), "utf-8")
        count = self.reloads()
        os.kill(self.cluster.agent_pid, signal.SIGHUP)
        self.wait("the reload", lambda: self.reloads() > count)

    def reloads(self):
        log = pathlib.Path(self.cluster.directory, "log", "penstockd.out")
        return log.read_text("utf-8").count("configuration reloaded")

    def test_a_reload_lends_to_running_jobs_and_takes_all_back(self):
        lender = self.submit("lenderR", 1 / 3)
        borrower = self.submit("borrowerR", 4)
        self.wait_imagined(borrower, 0.2)
        self.check_untouched(lender, borrower)
        self.use("Mode=on")
        self.wait_away(borrower)
        self.use("Mode=observe")
        self.wait("all to be home", lambda: not self.away_threads(borrower)
                  and not self.cluster.penstock_cgroups(), 5)
        self.check_untouched(lender, borrower)
        self.assertGreater(self.rate("borrowerR", 1), 0)
        self.assertIn("Mode= changed during the run: Penstock acted for a part "
                      "of it", self.cluster.status(borrower)["notes"])
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_a_restarted_penstockd_goes_on_observing(self):
        lender = self.submit("lenderS", 1 / 3)
        borrower = self.submit("borrowerS", 4)
        self.wait_imagined(borrower, 0.2)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.cluster.stop_agent(number)
            self.cluster.start_agent()
            self.wait_imagined(borrower, 0.2)
            self.check_untouched(lender, borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_a_users_own_masks_outlive_penstockd(self):
        # With --loader-threads, one that acts would keep loaders apart, and
        # give these threads all CPUs when it ends.
        cpu = str(min(os.sched_getaffinity(0)))
        job = self.cluster.sbatch(
            ["taskset", "-c", cpu, self.busy, "--workers", "1", "--on", "5",
             "--off", "20", "--seconds", "900", "--log",
             f"{self.cluster.home()}/pinned.log"], cpus=2,
            flags=["--loader-threads=1", "--loader-match=busy"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")

        def is_pinned():
            return [int(cpu)] in self.masks(job).values()

        self.wait("the program to run", is_pinned)
        self.wait("penstockd to know the loader", lambda: (
            (self.job_status(job) or {}).get("cores", {}).get("loader_threads")))
        masks = self.masks(job)
        for number in (signal.SIGKILL, signal.SIGTERM):
            self.cluster.stop_agent(number)
            self.check_masks(job, masks)
            self.cluster.start_agent()
            self.check_masks(job, masks)
        self.assertTrue(is_pinned())
        self.cluster.cancel(job)
        self.check_nothing_left()

    def test_lines_choose_by_node_partition_account_and_share(self):
        node = self.cluster.node
        self.use("Mode=observe", f"Mode=on Nodes={node[:-1]}[0-9],other",
                 "Mode=observe Partitions=main Accounts=physics,chemistry",
                 "Mode=on Accounts=chemistry Jobs=50%",
                 "Mode=observe Partitions=other")
        is_observed = {"physics": lambda job: True,
                       "biology": lambda job: False,
                       "chemistry": lambda job: not is_in_share(job, 50)}
        seen = set()
        for account in ("physics", "biology", *["chemistry"] * 8):
            job = self.submit(f"job{account}", 1 / 3,
                              flags=[f"--account={account}"])
            self.wait(f"job {job} to be sampled", lambda job=job: (
                (self.job_status(job) or {}).get("quality", {})
                .get("periods", 0) >= 1))
            observed = self.would_have(job) is not None
            self.assertEqual(observed, is_observed[account](job), account)
            seen.add((account, observed))
            self.cluster.cancel(job)
            self.cluster.wait_empty()
        self.assertIn(("chemistry", True), seen)
        self.assertIn(("chemistry", False), seen)

    def test_a_job_lent_to_beside_an_observed_one_takes_nothing_of_it(self):
        self.use("Mode=observe", "Mode=on Accounts=biology")
        observed = self.submit("observedB", 1 / 3)
        canary = self.submit("canaryB", 4, flags=["--account=biology"])
        self.wait("the canary to be measured", lambda: (
            (self.job_status(canary) or {}).get("quality", {})
            .get("periods", 0) >= 5))
        of_observed = hierarchy.cpus_in(self.held_by(observed))
        self.assertEqual(hierarchy.cpus_in(self.away_cpus(canary))
                         & of_observed, set())
        self.wait("the observed job to be measured", lambda: (
            (self.would_have(observed) or {}).get("lent_cores", 0) > 0.1), 30)
        self.assertIsNone(self.would_have(canary))
        self.cluster.cancel(observed, canary)
        self.check_nothing_left()

    def test_measuring_commands_are_told_why_nothing_is_limited(self):
        penstock = self.cluster.expose(self.cluster.build / "bin/penstock")
        done = self.cluster.command(
            penstock, "analyze", "--budget", "20s", "-n1", "--gres=gpu:1",
            "--loader=auto", "--", *self.trainer("analyzed", 1),
            user=self.cluster.user, timeout=120)
        self.assertIn("Mode=observe", done.stdout + done.stderr)


if __name__ == "__main__":
    agent_case.main()

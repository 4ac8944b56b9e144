"""penstockd dies, hangs or restarts while CPUs are lent. Jobs continue with
at least Slurm's allocation, and no groups of ours remain."""

import os
import signal
import time

import agent_case
import agent_parts
import hierarchy
import slurm_files


class Faults(agent_case.AgentCase):
    def tearDown(self):
        if "penstockd" not in self.cluster._daemons:
            self.cluster.start_agent()

    def test_killed_in_mid_job_and_restarted(self):
        lender, borrower = self.lend("K")
        self.cluster.stop_agent(signal.SIGKILL)
        # Its guardian brings all threads home and removes the groups.
        self.wait("the groups of a killed penstockd to be removed",
                  lambda: not self.cluster.penstock_cgroups(), 5)
        self.assertGreater(self.rate("borrowerK", 2), 0)
        self.cluster.start_agent()
        self.wait_away(borrower)
        report = self.cluster.status(borrower)
        self.assertEqual(report["quality"]["agent_restarts"], 1)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_stopped_leaves_nothing_and_restarted_adopts(self):
        lender, borrower = self.lend("S")
        self.assertEqual(self.cluster.stop_agent(), 0)
        self.assertEqual(self.cluster.penstock_cgroups(), [])
        self.cluster.start_agent()
        self.wait_away(borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def part(self, role):
        """The pid of a process of penstockd's (agent_parts.py)."""
        return agent_parts.parts_of(self.cluster.agent_pid)[role]

    def test_only_the_brokers_are_root(self):
        for role in ("broker", "guardian's broker"):
            status = agent_parts.status_of(self.part(role))
            self.assertEqual(set(status["Uid"]), {"0"})
        user = str(slurm_files.AGENT_USER)
        for role in ("penstockd", "guardian"):
            status = agent_parts.status_of(self.part(role))
            self.assertEqual(set(status["Uid"] + status["Gid"]), {user})
            self.assertEqual(status["Groups"], [])
            for key in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
                self.assertEqual(int(status[key][0], 16), 0)
            self.assertEqual(status["NoNewPrivs"], ["1"])

    def test_penstockd_without_jobs_does_not_outlive_its_broker(self):
        os.kill(self.part("broker"), signal.SIGKILL)
        self.wait("penstockd to end",
                  lambda: self.cluster.has_ended("penstockd"), 3)
        self.assertEqual(self.cluster.stop_agent(), 1)

    def check_killed_part(self, suffix, role):
        """Kills a child of penstockd, which must then end, but no job."""
        lender, borrower = self.lend(suffix)
        os.kill(self.part(role), signal.SIGKILL)
        self.wait("penstockd to end",
                  lambda: self.cluster.has_ended("penstockd"))
        self.assertEqual(self.cluster.stop_agent(), 1)
        self.wait("the groups to be removed",
                  lambda: not self.cluster.penstock_cgroups(), 5)
        self.assertGreater(self.rate(f"borrower{suffix}", 2), 0)
        self.cluster.start_agent()
        self.wait_away(borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_a_killed_broker_ends_penstockd_but_no_job(self):
        self.check_killed_part("B", "broker")

    def test_a_killed_guardian_ends_penstockd_but_no_job(self):
        self.check_killed_part("G", "guardian")

    def test_the_guardians_killed_broker_ends_penstockd_but_no_job(self):
        self.check_killed_part("O", "guardian's broker")

    # A request that it carries out later would undo a part of the clean-up.
    def test_the_guardian_waits_for_the_broker_of_a_killed_penstockd(self):
        lender, borrower = self.lend("W")
        broker = self.part("broker")
        os.kill(broker, signal.SIGSTOP)
        self.addCleanup(os.kill, broker, signal.SIGKILL)
        self.cluster.stop_agent(signal.SIGKILL)
        self.wait("the guardian to be tired of waiting", lambda: (
            "of a dead penstockd has not ended" in self.cluster.logs(
                "penstockd")))
        self.wait("the groups to be removed",
                  lambda: not self.cluster.penstock_cgroups(), 5)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_hung(self):
        lender, borrower = self.lend("H")
        os.kill(self.cluster.agent_pid, signal.SIGSTOP)
        try:
            start = time.monotonic()
            self.cluster.cancel(lender)
            done = self.cluster.srun("echo", "ran",
                                     flags=["--loader=auto"])
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
            self.check_time(time.monotonic() - start, 15)
            # The guardian treats a missing heartbeat as a hang.
            self.wait("the groups of a hung penstockd to be removed",
                      lambda: not self.cluster.penstock_cgroups(), 10)
            self.assertGreater(self.rate("borrowerH", 2), 0)
        finally:
            os.kill(self.cluster.agent_pid, signal.SIGCONT)
        self.wait("penstockd to answer again",
                  lambda: self.job_status(borrower) is not None)
        self.wait_away(borrower)
        self.cluster.cancel(borrower)
        self.check_nothing_left()

    def test_a_second_one_leaves_the_first_and_its_jobs_alone(self):
        lender, borrower = self.lend("T")
        second = self.cluster.command(
            str(self.cluster.build / "bin" / "penstockd"), "-f",
            f"{self.cluster.directory}/penstock.conf")
        self.assertEqual(second.returncode, 1)
        self.assertRegex(second.stderr, r"\A[^\n]*another penstockd runs with "
                                        r"this StateDir[^\n]*\n\Z")
        self.wait_lent_again(lender, borrower)
        self.assertGreater(self.rate("borrowerT", 2), 0)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_scancel(self):
        job = self.submit("cancelled", 4)
        self.wait_away(job)
        self.cluster.cancel(job)
        self.check_nothing_left()
        self.wait("the report", lambda: self.reports(job))


class GangScheduling(agent_case.AgentCase):
    cluster_options = {"agent": True,
                       "partition": "OverSubscribe=FORCE:2",
                       "slurm_lines": ["PreemptMode=GANG",
                                       "SchedulerTimeSlice=5"]}

    def sleeper(self):
        """A job that leaves its CPU idle, also on a slow machine."""
        job = self.cluster.sbatch(["sleep", "600"], gpus=0,
                                  flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def test_cpus_held_twice_are_not_lent(self):
        cpus = os.cpu_count()
        jobs = [self.sleeper() for _ in range(min(cpus, max(2, cpus - 1)))]
        while len(jobs) < cpus:
            jobs.append(self.submit("other", 4, gpus=0))
        borrower = self.submit("borrower", 4, gpus=0)
        held = [self.held_by(job) for job in jobs]
        twice = self.held_by(borrower)
        self.assertIn(twice, held[:2])
        # Its weight would be lower than that of the other holder of its CPU.
        self.wait("the borrower to be told", lambda: (
            "lent no CPUs while other jobs hold some of its own too"
            in (self.job_status(borrower) or {"notes": []})["notes"]))
        for _ in range(20):
            self.rate("borrower", 0.1)
            self.assertFalse(self.away_threads(borrower))
            for job in jobs:
                if self.away_threads(job):
                    self.assertNotIn(
                        int(twice), hierarchy.cpus_in(self.away_cpus(job)))
        self.cluster.cancel(*jobs, borrower)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()

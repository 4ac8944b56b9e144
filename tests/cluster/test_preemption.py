"""Slurm takes CPUs away from jobs of a low priority: it requeues or suspends
them. Loans end, and a requeued job is managed again."""

import json
import os
import pathlib
import sys
import time

import agent_case
import hierarchy

LOW, URGENT = "PriorityTier=1", "PriorityTier=10"


class Preemption(agent_case.AgentCase):
    cluster_options = {
        "agent": True,
        "partition": f"{LOW} PreemptMode=OFF OverSubscribe=FORCE:1",
        "slurm_lines": [
            "PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG",
            *(f"PartitionName={name} Nodes=ALL MaxTime=INFINITE "
              f"OverSubscribe=FORCE:1 {rest}" for name, rest in (
                  ("requeued", f"{LOW} PreemptMode=REQUEUE"),
                  ("suspended", f"{LOW} PreemptMode=SUSPEND"),
                  ("urgent", URGENT)))]}

    def idle_job(self, partition):
        """A job that lends its CPU, on every machine."""
        job = self.cluster.sbatch(["sleep", "600"], gpus=0, flags=[
            "--loader=auto", f"--partition={partition}"])
        self.addCleanup(self.cluster.cancel, str(job))
        return job

    def start_idle_job(self, partition="main"):
        """Also returns its CPUs."""
        job = self.idle_job(partition)
        self.cluster.wait_job(job, "RUNNING")
        return job, hierarchy.cpus_in(self.held_by(job))

    def preempt(self, job, state):
        """Starts an urgent job in place of the other, which is then in the
        state."""
        urgent = self.idle_job("urgent")
        self.wait(f"job {job} to be {state}",
                  lambda: self.cluster.job(job)["JobState"] == state)
        self.cluster.wait_job(urgent, "RUNNING")
        return urgent

    def run_again(self, job):
        """Ends Slurm's wait before the second run of a requeued job. slurmd
        refuses a run that starts in the second in which it ended the first."""
        ended_s = time.time()
        self.wait("a later second", lambda: time.time() > ended_s + 2)

        def has_started():
            self.cluster.command("scontrol", "update", f"JobId={job}",
                                 "StartTime=now")
            return self.cluster.job(job)["JobState"] == "RUNNING"
        self.wait(f"job {job} to run again", has_started)
        self.assertEqual(self.cluster.job(job)["Restarts"], "1")

    def wait_lent(self, home, borrower):
        self.wait(f"CPUs {home} to be lent to job {borrower}",
                  lambda: home <= hierarchy.cpus_in(self.away_cpus(borrower))
                  and self.away_threads(borrower))

    def wait_not_lent(self, home, borrower):
        self.wait(f"CPUs {home} not to be lent to job {borrower}", lambda: (
            not home & hierarchy.cpus_in(self.away_cpus(borrower))))

    def check_runs(self, job):
        """Checks and returns the reports of the job's two runs."""
        self.wait("the second run's report",
                  lambda: len(self.reports(job)) == 4)
        paths = self.reports(job)
        node = self.cluster.node
        self.assertEqual([os.path.basename(path) for path in paths], [
            f"{node}.1.json", f"{node}.1.txt", f"{node}.json", f"{node}.txt"])
        first, second = (json.loads(pathlib.Path(path).read_text("utf-8"))
                         for path in paths[::2])
        self.assertLess(first["end_unix_s"], second["start_unix_s"])
        for run in first, second:
            self.assertEqual((run["job_id"], run["tasks"]), (job, 1))
        return first, second

    def test_a_requeued_borrower(self):
        lender, held = self.start_idle_job()
        borrower = self.submit("borrower", 4, ["--partition=requeued"])
        self.wait_lent(held, borrower)
        urgent = self.preempt(borrower, "PENDING")
        self.wait("the borrower's groups to be removed", lambda: (
            not hierarchy.away_groups(self.cluster.node, borrower)))
        self.wait("the first run's report", lambda: self.reports(borrower))
        self.assertIsNone(self.job_status(borrower))
        self.cluster.cancel(urgent)
        self.run_again(borrower)
        self.wait_lent(held, borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()
        for run in self.check_runs(borrower):
            self.assertEqual(run["ranks"], 1)
            self.assertGreater(run["quality"]["samples"], 0)
            self.assertGreater(run["cores"]["used_away"], 0)

    def test_a_requeued_lender(self):
        lender, held = self.start_idle_job("requeued")
        borrower = self.submit("borrower", 4)
        self.wait_lent(held, borrower)
        urgent = self.preempt(lender, "PENDING")
        self.assertIsNone(self.job_status(lender))
        self.wait_lent(held, borrower)  # by the urgent job
        self.cluster.cancel(urgent)
        self.run_again(lender)
        self.wait_lent(held, borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()
        self.check_runs(lender)

    def test_a_suspended_lender(self):
        lender, held = self.start_idle_job("suspended")
        borrower = self.submit("borrower", 4)
        self.wait_lent(held, borrower)
        urgent = self.preempt(lender, "SUSPENDED")
        self.assertEqual(hierarchy.cpus_in(self.held_by(urgent)), held)
        self.wait_not_lent(held, borrower)  # two jobs hold the CPU
        self.rate("borrower", 3)
        self.assertFalse(held & hierarchy.cpus_in(self.away_cpus(borrower)))
        self.cluster.cancel(urgent)
        self.cluster.wait_job(lender, "RUNNING")
        self.wait_lent(held, borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_a_suspended_borrower(self):
        lender, held = self.start_idle_job()
        borrower = self.submit("borrower", 4, ["--partition=suspended"])
        self.wait_lent(held, borrower)
        urgent = self.preempt(borrower, "SUSPENDED")
        self.wait_not_lent(held, borrower)
        # Its away group has its own CPUs until the threads have left it.
        self.wait("its threads to be home", lambda: (
            not self.away_threads(borrower)))
        self.cluster.cancel(urgent)
        self.cluster.wait_job(borrower, "RUNNING")
        self.wait_lent(held, borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()


if __name__ == "__main__":
    if os.cpu_count() != 2 or hierarchy.COMOUNTED:
        print("SKIPPED: two jobs, each with one of two CPUs, must lend to each "
              "other")
        sys.exit(77)
    agent_case.main()

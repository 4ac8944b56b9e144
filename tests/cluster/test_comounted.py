"""If cpu and cpuacct are one hierarchy, away threads cannot have their own
cpu groups, because Slurm's accounting uses that hierarchy. They stay in
Slurm's groups, under SCHED_IDLE."""

import os
import pathlib
import sys

import agent_case
import hierarchy

TOP = f"{hierarchy.ROOT}/cpu,cpuacct"


def cpu_group(tid):
    """The thread's group in that hierarchy."""
    for line in pathlib.Path(f"/proc/{tid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "cpu,cpuacct":
            return path
    raise AssertionError(f"no cpu,cpuacct of {tid}")


class Case(agent_case.AgentCase):
    def policies(self, job):
        """Scheduling policies of the job's threads."""
        return {os.sched_getscheduler(tid) for tid in
                hierarchy.job_threads(self.cluster.node, job)}

    def check_away(self, job):
        """Away threads have SCHED_IDLE, in a group that is not ours."""
        away = self.away_threads(job)
        self.assertTrue(away)
        for tid in away:
            self.assertEqual(os.sched_getscheduler(tid), os.SCHED_IDLE)
            self.assertNotIn("penstock", cpu_group(tid))
        self.assertFalse(os.path.exists(f"{TOP}/penstock_{self.cluster.node}"))

    def check_home_when_off(self, job):
        self.cluster.stop_agent()
        self.assertEqual(self.away_threads(job), [])
        self.assertEqual(self.policies(job), {os.SCHED_OTHER})
        self.cluster.start_agent()

    def lent(self, job):
        return (hierarchy.cpus_in(self.away_cpus(job))
                - hierarchy.cpus_in(self.held_by(job)))


    def idle_job(self):
        """A job that leaves its CPU idle, and the CPU. A trainer would not:
        emulated CPUs are slower than any profile."""
        job = self.cluster.sbatch("#!/bin/sh\nexec sleep 600\n", gpus=0,
                                  flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job, hierarchy.cpus_in(self.held_by(job))


class CountedByGroups(Case):
    """jobacct_gather/cgroup: each task has a cpu group of its own."""

    def test_spare_cpus_are_lent(self):
        job = self.submit("alone", 4)
        self.wait_away(job)
        self.check_away(job)
        for tid in self.away_threads(job):
            self.assertIn(f"/slurm_{self.cluster.node}/", cpu_group(tid))
        self.check_home_when_off(job)
        self.cluster.cancel(job)
        self.check_nothing_left()

    # SCHED_IDLE yields only within a group.
    def test_no_job_lends_to_another(self):
        lender, held = self.idle_job()
        borrower = self.submit("borrower", 16)
        self.wait_away(borrower)
        self.rate("borrower", 5)
        self.assertFalse(self.lent(borrower) & held)
        self.wait("penstockd to say why", lambda: "cpu and cpuacct are one "
                  "hierarchy" in self.cluster.logs("penstockd", lines=1000))
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()


class CountedByProcesses(Case):
    """jobacct_gather/linux: all tasks are in slurmd's cpu group."""
    cluster_options = {"agent": True, "slurm_lines": [
        "JobAcctGatherType=jobacct_gather/linux"]}

    def test_a_job_lends_to_another(self):
        lender, held = self.idle_job()
        borrower = self.submit("borrower", 16)
        self.wait_away(borrower)
        self.wait("the lender's CPU to be lent",
                  lambda: self.lent(borrower) & held, 60)
        self.check_away(borrower)
        self.check_home_when_off(borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()


if __name__ == "__main__":
    if not hierarchy.COMOUNTED:
        print("SKIPPED: cpu and cpuacct are not one hierarchy here; "
              "tests/vm/run --suite bookworm --legacy has that")
        sys.exit(77)
    agent_case.main()

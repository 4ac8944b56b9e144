"""Cores with several hardware threads: a thread on one half of a core slows
the other half, so only whole cores are lent."""

import pathlib
import sys
import time

import agent_case
import cluster_case
import hierarchy

TOPOLOGY = pathlib.Path("/sys/devices/system/cpu")


def siblings(cpu):
    """The CPUs of a CPU's core, including itself."""
    text = pathlib.Path(TOPOLOGY, f"cpu{cpu}",
                        "topology/thread_siblings_list").read_text("ascii")
    return hierarchy.cpus_in(text)


class Smt(agent_case.AgentCase):
    def held(self, job):
        """The CPUs that Slurm gave the job."""
        return hierarchy.cpus_in(self.held_by(job))

    def lent(self, job):
        """The CPUs lent to the job. After the end of all loans, away threads
        are at home."""
        return hierarchy.cpus_in(self.away_cpus(job)) - self.held(job)

    def check_whole_cores(self, job, seconds=5):
        """Checks the loan for that time; returns all CPUs that were lent."""
        seen = set()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            lent = self.lent(job)
            for cpu in lent:
                self.assertTrue(siblings(cpu) <= lent, lent)
            seen |= lent
            time.sleep(0.05)
        return seen

    def test_unallocated_cores_are_lent_whole(self):
        job = self.submit("wide", 16)
        self.wait_away(job)
        self.assertTrue(self.check_whole_cores(job))
        self.cluster.cancel(job)
        self.check_nothing_left()

    def lender(self, command):
        """A job that runs a command on its own core; also returns its CPUs."""
        job = self.cluster.sbatch(f"#!/bin/sh\nexec {command}\n", gpus=0,
                                  flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        held = self.held(job)
        self.assertEqual(len(held), 2)
        return job, held

    def test_a_core_that_its_job_leaves_idle_is_lent_whole(self):
        lender, held = self.lender("sleep 600")
        job = self.submit("borrower", 16)
        self.wait("the core to be lent", lambda: self.lent(job) & held)
        self.check_whole_cores(job)
        self.cluster.cancel(lender, job)
        self.check_nothing_left()

    def test_half_a_busy_core_is_not_lent(self):
        lender, held = self.lender("sh -c 'while :; do :; done'")
        job = self.submit("borrower", 16)
        self.wait_away(job)
        self.wait("the busy core not to be lent", lambda: (
            not self.lent(job) & held))
        seen = self.check_whole_cores(job)
        self.assertTrue(seen)
        self.assertFalse(seen & held)
        self.cluster.cancel(lender, job)
        self.check_nothing_left()


if __name__ == "__main__":
    if siblings(0) == {0}:
        print("SKIPPED: one hardware thread a core here; tests/vm/run --smt "
              "has two")
        sys.exit(77)
    cluster_case.main()

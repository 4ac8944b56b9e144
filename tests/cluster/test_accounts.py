"""Job accounts as penstockd knows them, and LendAcross=account."""

import agent_case
import cluster_case
import hierarchy
import protocol
from fake_agent import FakeAgent

FORGED = {"SLURM_JOB_ACCOUNT": "physics",
          "SPANK_SLURM_JOB_ACCOUNT": "physics",
          "SLURM_JOB_PARTITION": "other",
          "SPANK_SLURM_JOB_PARTITION": "other"}


class Announced(cluster_case.ClusterCase):
    cluster_options = {"accounts": True}

    def setUp(self):
        super().setUp()
        self.agent = FakeAgent(self.cluster.socket_path)
        self.addCleanup(self.agent.close)

    def announced(self, job):
        """The account of the single announcement, which precedes the tasks and
        has the job's partition."""
        self.cluster.wait_job(job)
        starts = self.agent.records(protocol.JOB_START, job_id=job)
        self.assertEqual(len(starts), 1)
        first_task = self.agent.records(protocol.TASK_START, job_id=job)[0]
        self.assertLess(starts[0][0], first_task[0])
        self.assertEqual(starts[0][1].partition,
                         self.cluster.job(job)["Partition"])
        return starts[0][1].account

    def test_the_account_is_told_once_before_the_tasks(self):
        job = self.cluster.sbatch("#!/bin/sh\nsrun true\nsrun true\n",
                                  flags=["--account=chemistry"])
        self.assertEqual(self.announced(job), "chemistry")

    def test_the_environment_forges_nothing(self):
        steps = ("#!/bin/sh\nexport SLURM_JOB_ACCOUNT=physics\n"
                 "srun true\n")
        job = self.cluster.sbatch(steps, env=FORGED)
        self.assertEqual(self.announced(job), "")
        job = self.cluster.sbatch(steps, env=FORGED,
                                  flags=["--account=chemistry"])
        self.assertEqual(self.announced(job), "chemistry")

    def test_a_name_that_would_be_cut_is_not_told(self):
        for length, told in ((64, "a" * 64), (65, "")):
            job = self.cluster.sbatch("#!/bin/sh\ntrue\n",
                                      flags=["--account=" + "a" * length])
            self.assertEqual(self.announced(job), told)


class LendingAcrossAccounts(agent_case.AgentCase):
    cluster_options = {"agent": True, "accounts": True,
                       "agent_lines": ("LendAcross=account",)}

    def submit_for(self, name, slices, account, **more):
        flags = [f"--account={account}"] if account else []
        return self.submit(name, slices, flags=flags, **more)

    # Unallocated CPUs belong to no account.
    def check_nothing_is_lent(self, name, lender, borrower):
        self.wait("the borrower to be known",
                  lambda: self.job_status(borrower) is not None)
        self.rate(name, 3)
        self.assertEqual(hierarchy.cpus_in(self.away_cpus(borrower))
                         & hierarchy.cpus_in(self.held_by(lender)), set())
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_jobs_of_one_account_lend(self):
        lender = self.submit_for("lender1", 1 / 3, "physics")
        borrower = self.submit_for("borrower1", 4, "physics")
        self.wait_away(borrower)
        # A restarted penstockd still knows the accounts.
        self.cluster.stop_agent()
        self.cluster.start_agent()
        self.wait_away(borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_jobs_of_two_accounts_do_not(self):
        lender = self.submit_for("lender2", 1 / 3, "physics")
        borrower = self.submit_for("borrower2", 4, "chemistry")
        self.check_nothing_is_lent("borrower2", lender, borrower)

    def test_a_forged_account_borrows_nothing(self):
        lender = self.submit_for("lender3", 1 / 3, "physics")
        borrower = self.submit_for("borrower3", 4, "", env=FORGED)
        self.check_nothing_is_lent("borrower3", lender, borrower)

    def test_jobs_of_unknown_account_lend_within_their_user(self):
        lender = self.submit_for("lender4", 1 / 3, "")
        borrower = self.submit_for("borrower4", 4, "")
        self.wait_away(borrower)
        self.assertIn("its account is unknown: CPUs are lent between its "
                      "user's jobs", self.cluster.status(borrower)["notes"])
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()

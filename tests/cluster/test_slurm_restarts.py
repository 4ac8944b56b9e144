"""Slurm's daemons read their configuration anew, and restart, while jobs lend
and borrow: no job and no report is lost, and nothing remains."""


import agent_case


class SlurmRestarts(agent_case.AgentCase):
    def reported(self, job):
        return bool(self.reports(job))

    def reconfigure(self):
        done = self.cluster.command("scontrol", "reconfigure")
        self.assertEqual(done.returncode, 0, done.stderr)

    # Not while Slurm starts or ends a job. slurmctld would wait for the answer
    # of a stopped daemon, and requeue the job. After `scontrol reconfigure` at
    # such a time, threads of slurmctld 22.05 that send messages may use a CPU
    # for ever, and the job may end as NODE_FAIL.
    def test_while_a_job_lends(self):
        borrower = self.submit("borrower", 4)
        self.wait_away(borrower)
        for restart in (self.reconfigure, self.cluster.restart_slurmd,
                        self.reconfigure, self.cluster.restart_controller,
                        self.reconfigure, self.cluster.restart_slurmd):
            lender = self.cluster.sbatch(["sleep", "3"], gpus=0,
                                         flags=["--loader=auto"])
            self.wait("the lender to be known",
                      lambda job=lender: self.job_status(job))
            restart()
            self.cluster.wait_job(lender)
            self.wait("the lender's report",
                      lambda job=lender: self.reported(job))
        self.wait_away(borrower)
        # It has been one run, for Slurm and for penstockd.
        self.assertEqual(self.cluster.job(borrower)["Restarts"], "0")
        self.cluster.cancel(borrower)
        self.check_nothing_left()
        self.wait("its report", lambda: self.reported(borrower))
        self.assertEqual(len(self.reports(borrower)), 2)


if __name__ == "__main__":
    agent_case.main()

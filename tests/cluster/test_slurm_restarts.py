"""Slurm's daemons read their configuration anew, and restart, while jobs start,
lend and end: no job and no report is lost, and nothing remains."""

import pathlib
import re

import agent_case

JOBS = 15


class SlurmRestarts(agent_case.AgentCase):
    def reported(self, job):
        return pathlib.Path(self.cluster.directory, "reports",
                            f"{job}.json").exists()

    def borrower(self):
        job = self.submit("borrower", 4)
        self.wait_away(job)
        return job

    def check_borrower(self, job):
        """It has been one run, for Slurm and for penstockd, and borrows."""
        self.wait_away(job)
        self.assertEqual(self.cluster.job(job)["Restarts"], "0")
        self.cluster.cancel(job)
        self.check_nothing_left()
        self.wait("its report", lambda: self.reported(job))
        self.assertEqual(len(self.reports(job)), 2)

    def test_reconfigure_while_jobs_come_and_go(self):
        borrower = self.borrower()
        # Slurm starts them one after another on the other CPUs.
        array = self.cluster.sbatch("#!/bin/sh\nexec sleep 0.3\n", gpus=0,
                                    flags=["--loader=auto", "--no-requeue",
                                           f"--array=1-{JOBS}"])
        self.addCleanup(self.cluster.cancel, str(array))
        while len(self.cluster.squeue()) > 1:
            done = self.cluster.command("scontrol", "reconfigure")
            self.assertEqual(done.returncode, 0, done.stderr)
        shown = self.cluster.command("scontrol", "-o", "show", "job",
                                     str(array)).stdout
        self.assertEqual(re.findall(r"JobState=(\S+)", shown),
                         JOBS * ["COMPLETED"])
        for job in re.findall(r"^JobId=(\d+)", shown, re.MULTILINE):
            self.wait(f"job {job}'s report", lambda job=job: (
                self.reported(job)))
        self.check_borrower(borrower)

    # Not while it starts a job: slurmctld would wait for its answer, and
    # requeue the job.
    def test_daemons_restart_while_a_job_lends(self):
        borrower = self.borrower()
        for restart in (self.cluster.restart_slurmd,
                        self.cluster.restart_controller,
                        self.cluster.restart_slurmd):
            lender = self.cluster.sbatch(["sleep", "3"], gpus=0,
                                         flags=["--loader=auto"])
            self.wait("the lender to be known",
                      lambda job=lender: self.job_status(job))
            restart()
            self.cluster.wait_job(lender)
            self.wait("the lender's report",
                      lambda job=lender: self.reported(job))
        self.check_borrower(borrower)


if __name__ == "__main__":
    agent_case.main()

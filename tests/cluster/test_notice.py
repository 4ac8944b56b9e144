"""ReportNotice: one line in a job's standard error at its end."""

import os
import pathlib
import signal
import time
import unittest

import agent_case

RUN_S = 6
HELD_UP_S = 3  # at most, by a penstockd that does not answer


class Notice(agent_case.AgentCase):
    cluster_options = {"agent": True, "agent_lines": ("ReportNotice=all",
                                                      "ReportMinTime=2")}

    def use(self, *lines):
        if self.cluster.is_started("penstockd"):
            self.cluster.stop_agent()
        self.cluster.start_agent(lines=lines)

    def lines_of(self, job):
        """The notices in the output of an ended batch job."""
        self.cluster.wait_job(job)
        return self.notices(self.cluster.output(job))

    def notices(self, text):
        return [line for line in text.splitlines()
                if "penstock report" in line]

    def starved(self, name, seconds=RUN_S):
        """A job that waits for its loader."""
        return self.trainer(name, 8, seconds=seconds)

    def sbatch(self, name, **more):
        return self.cluster.sbatch(self.starved(name), flags=["--loader=auto"],
                                   **more)

    def test_a_batch_job_gets_one_line_with_verdict_and_command(self):
        job = self.sbatch("batch")
        lines = self.lines_of(job)
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r"^penstock: Input-bound: \d+% of step time "
                         rf"waits for data .*; penstock report {job}$")

    def test_a_script_with_steps_gets_one_line_at_its_end(self):
        command = " ".join(map(str, self.starved("step")))
        job = self.cluster.sbatch(
            f"#!/bin/sh\nsrun --loader=auto {command}\nsrun --loader=auto "
            f"{command}\necho the end\n", flags=["--loader=auto"])
        self.assertEqual(len(self.lines_of(job)), 1)
        text = self.cluster.output(job)
        self.assertLess(text.index("the end"), text.index("penstock report"))

    def test_srun_alone_gets_the_line_on_its_standard_error(self):
        done = self.cluster.srun(*map(str, self.starved("srun")),
                                 flags=["--loader=auto"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.notices(done.stderr)), 1, done.stderr)
        self.assertEqual(self.notices(done.stdout), [])

    @unittest.skipIf(os.cpu_count() < 2, "SKIPPED: one CPU")
    def test_two_tasks_get_one_line(self):
        done = self.cluster.srun(*map(str, self.starved("two")), flags=[
            "--loader=auto", "--ntasks=2"])
        self.assertEqual(len(self.notices(done.stderr)), 1, done.stderr)

    def test_short_and_unmanaged_jobs_get_none(self):
        done = self.cluster.srun("true", flags=["--loader=auto"])
        self.assertEqual(self.notices(done.stderr), [])
        job = self.cluster.sbatch(self.starved("plain"), flags=["--loader=off"])
        self.assertEqual(self.lines_of(job), [])

    def test_the_site_chooses_who_gets_it(self):
        self.addCleanup(self.use, *self.cluster_options["agent_lines"])
        self.use("ReportNotice=problems", "ReportMinTime=2")
        fed = self.cluster.sbatch(self.trainer("fed", 1 / 8, seconds=RUN_S),
                                  flags=["--loader=auto"])
        self.assertEqual(self.lines_of(fed), [])
        self.assertEqual(len(self.lines_of(self.sbatch("starved"))), 1)
        self.use("ReportNotice=off", "ReportMinTime=2")
        self.assertEqual(self.lines_of(self.sbatch("off")), [])

    def test_a_penstockd_that_is_gone_or_hangs_holds_up_no_job(self):
        self.addCleanup(self.use, *self.cluster_options["agent_lines"])
        for number in (signal.SIGSTOP, signal.SIGKILL):
            log = pathlib.Path(self.cluster.home(), f"{number.name}.end")
            command = " ".join(map(str, self.starved(number.name)))
            job = self.cluster.sbatch(
                f"#!/bin/sh\n{command}\ntouch {log}\n",
                flags=["--loader=auto"])
            self.cluster.wait_job(job, "RUNNING")
            self.wait("the program to train", lambda n=number.name:
                      self.rate(n, 1) > 0)
            pid = self.cluster.agent_pid
            if number == signal.SIGSTOP:
                os.kill(pid, number)
            else:
                self.cluster.stop_agent(number)
            try:
                self.cluster.wait_job(job)
                held_up_s = time.time() - log.stat().st_mtime
                self.assertLess(held_up_s, HELD_UP_S)
                self.assertEqual(self.notices(self.cluster.output(job)), [])
            finally:
                if number == signal.SIGSTOP:
                    os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    agent_case.main()

"""What is particular to the unified hierarchy: groups of ours stand inside
Slurm's, which Slurm rewrites, counts and removes."""

import os
import pathlib
import sys
import time

import agent_case
import hierarchy

JOBS = 200
AT_ONCE = 8


class Unified(agent_case.AgentCase):
    def job_cpus(self, job):
        directory = hierarchy.job_dir(self.cluster.node, job)
        return hierarchy.cpus_in(
            pathlib.Path(directory, "cpuset.cpus").read_text())

    def check_no_directory_left(self):
        self.check_nothing_left()
        self.wait("Slurm to remove its jobs' directories",
                  lambda: not hierarchy.job_dirs(self.cluster.node))

    # Slurm writes the job's cpuset for each step that it starts.
    def test_a_new_step_takes_what_is_lent_for_less_than_a_second(self):
        job = self.submit("stepped", 4)
        self.wait_away(job)
        held = hierarchy.cpus_in(self.held_by(job))
        for _ in range(5):
            self.wait("CPUs to be lent", lambda: self.job_cpus(job) > held)
            done = self.cluster.srun("true", gpus=0, flags=[
                f"--jobid={job}", "--overlap", "--gres=none"])
            self.assertEqual(done.returncode, 0, done.stderr)
            ended = time.monotonic()
            self.wait("them to be lent again",
                      lambda: self.job_cpus(job) > held, 10)
            self.check_time(time.monotonic() - ended, 1)
            self.assertEqual(hierarchy.cpus_in(self.held_by(job)), held)
        self.cluster.cancel(job)
        self.check_no_directory_left()

    def test_whoever_is_away_is_killed_with_the_job_and_nothing_leaks(self):
        for number in range(5):
            job = self.submit(f"killed{number}", 4)
            self.wait_away(job)
            threads = hierarchy.job_threads(self.cluster.node, job)
            away = self.away_threads(job)
            self.assertTrue(set(away) <= set(threads))
            self.cluster.cancel(job)
            self.check_no_directory_left()
            for tid in away:
                self.assertFalse(os.path.exists(f"/proc/{tid}"))

    def switch(self, word):
        done = self.cluster.command(
            self.cluster.expose(self.cluster.build / "bin/penstock"), word,
            "--config", f"{self.cluster.directory}/penstock.conf", timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    # The kernel leaves no cpuset empty that somebody is in.
    def test_all_tasks_of_a_step_borrow_at_once(self):
        line = " ".join(self.trainer("rank$SLURM_PROCID", 4))
        job = self.cluster.sbatch(
            f"#!/bin/sh\nexec srun --overcommit -n3 sh -c 'exec {line}'\n",
            flags=["--loader=auto",
                   f"--loader-model={self.profile('ranks', 4)}"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")

        def borrowers():
            return {path.split("/")[-2] for path in
                    hierarchy.away_groups(self.cluster.node, job)
                    if "/step_0/" in path
                    and pathlib.Path(path, "cgroup.threads").read_text()}

        tasks = {"task_0", "task_1", "task_2"}
        self.wait("all tasks to have threads away",
                  lambda: borrowers() == tasks, 60)
        self.switch("off")
        self.assertEqual(hierarchy.changes(self.cluster.node, job), [])
        self.assertEqual(self.cluster.penstock_cgroups(), [])
        held = hierarchy.cpus_in(self.held_by(job))
        self.assertEqual(self.job_cpus(job), held)
        self.switch("on")
        self.wait("all tasks to have threads away again",
                  lambda: borrowers() == tasks, 60)
        self.assertNotIn("not all", self.cluster.logs("penstockd", lines=1000))
        self.cluster.cancel(job)
        self.check_no_directory_left()

    def test_home_threads_cannot_leave_their_cpus(self):
        # taskset is what a user's program does that pins itself.
        line = " ".join(self.trainer("pinned", 4))
        job = self.cluster.sbatch(
            f"#!/bin/sh\n{line} &\nwhile sleep 0.2; do taskset -pc "
            f"0-{os.cpu_count() - 1} $$ >/dev/null 2>&1; grep Cpus_allowed_l "
            "/proc/$$/status; done\n",
            flags=["--loader=auto",
                   f"--loader-model={self.profile('pinned', 4)}"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        self.wait_away(job)
        held = self.held_by(job)

        def masks():
            return [line for line in self.cluster.output(job).splitlines()
                    if line.startswith("Cpus_allowed")]

        shown = len(masks())
        self.wait("the script to have tried", lambda: len(masks()) > shown + 5)
        self.assertEqual(set(masks()[shown:]),
                         {f"Cpus_allowed_list:\t{held}"})
        self.cluster.cancel(job)
        self.check_no_directory_left()

    def start_one(self, number):
        """One of several kinds of jobs."""
        short = " ".join(self.trainer(f"mix{number % AT_ONCE}", 4, seconds=2))
        if number % 20 == 3:  # without a batch step
            done = self.cluster.srun(*short.split(), gpus=0,
                                     flags=["--loader=auto"])
            self.assertEqual(done.returncode, 0, done.stderr)
            return
        script, flags = [
            (f"#!/bin/sh\nexec {short}\n", []),
            (f"#!/bin/sh\nsrun {short}\nsrun --exact -n1 true\n", []),
            ("#!/bin/sh\nexec sleep 1\n", ["--array=0-1"]),
            (f"#!/bin/sh\nsrun {short} &\nsrun --overlap sleep 1 &\nwait\n",
             []),
            (f"#!/bin/sh\n{short} & sleep 600\n", []),  # to be cancelled
        ][number % 5]
        job = self.cluster.sbatch(script, gpus=0,
                                  flags=["--loader=auto", *flags])
        if number % 5 == 4:
            self.wait("it to run or to wait its turn", lambda:
                      self.cluster.job(job).get("JobState") == "RUNNING", 60)
            if number % 2:
                self.cluster.command("scontrol", "suspend", str(job))
                self.cluster.command("scontrol", "resume", str(job))
            self.cluster.cancel(str(job))

    def test_of_200_jobs_no_directory_is_left(self):
        for number in range(JOBS):
            self.start_one(number)
            if number % 66 == 1:  # its limit is in whole minutes
                over_time = self.cluster.sbatch(
                    self.trainer("over_time", 4, seconds=100000), gpus=0,
                    flags=["--loader=auto", "--time=1"])
            self.wait("room in the queue",
                      lambda: len(self.cluster.squeue()) < AT_ONCE, 120)
        self.cluster.wait_job(over_time, "TIMEOUT", 180)
        self.cluster.wait_empty(120)
        self.check_no_directory_left()
        log = self.cluster.logs("slurmd", lines=100000)
        for complaint in ("Cannot rmdir", "not empty", "busy"):
            self.assertNotIn(complaint, log)


if __name__ == "__main__":
    if not hierarchy.UNIFIED:
        print("SKIPPED: cgroup v1 here; tests/vm/run has the unified hierarchy")
        sys.exit(77)
    agent_case.main()

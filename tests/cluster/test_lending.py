"""Cores and bandwidth move between real jobs, and come back."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import unittest

import agent_case
import embedded
import hierarchy
import slurm_files

# Prints, as a task's first action, the CPUs that are lent to others.
FIRST_ACT = ('for f in {pattern};'
             ' do cat "$f" 2>/dev/null; done; grep Cpus_allowed_list '
             "/proc/self/status")


class Lending(agent_case.AgentCase):
    cluster_options = {"agent": True, "users": 2}

    def test_a_lender_that_wants_its_cpu_back(self):
        busy = self.cluster.expose(
            embedded.build_directory() / "bin" / "busy")
        lender = self.cluster.sbatch(
            [busy, "--workers", "1", "--processes", "--on", "1000", "--off",
             "1000", "--seconds", "120", "--log",
             f"{self.cluster.home()}/toggles.log"], flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(lender))
        self.cluster.wait_job(lender, "RUNNING")
        borrower = self.submit("recalled", 4)
        self.wait_away(borrower)
        self.wait("the CPU to be wanted several times", lambda: (
            self.cluster.status()["recall"]["count"] >= 3), 60)
        # Away threads are home within 100 ms after the owner needs the CPU.
        self.check_time(self.cluster.status()["recall"]["p99_ms"], 100)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_a_lender_and_a_borrower(self):
        lender = self.submit("lender", 1 / 3)
        borrower = self.submit("borrower", 4)
        self.wait_away(borrower)
        own = self.cluster.status(lender)
        self.assertEqual(self.away_threads(lender), [])
        self.assertEqual(own["cores"]["allocated"], 1)
        # The lender's own threads were not moved.
        for tid in self.away_threads(borrower):
            comm = pathlib.Path(f"/proc/{tid}/comm").read_text().strip()
            self.assertTrue(comm.startswith("pst_loader"), comm)
        # The loan may change between two looks.
        self.wait("away threads to be on lent CPUs and nowhere else",
                  lambda: self.away_masks(borrower) ==
                  {self.away_cpus(borrower)})

        self.rate("borrower", 2)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()
        self.check_report(borrower)

    def away_masks(self, job):
        """The affinity masks of the job's away threads."""
        found = set()
        for tid in self.away_threads(job):
            try:
                text = pathlib.Path(f"/proc/{tid}/status").read_text()
            except OSError:
                continue  # the thread has ended
            found.add(text.split("Cpus_allowed_list:\t")[1].split("\n")[0])
        return found

    def allowed(self, job):
        """All CPUs in the masks of the job's away threads."""
        return set().union(*map(hierarchy.cpus_in, self.away_masks(job)))

    # A suspended job's CPU is idle, even if the job needs all of it, and Slurm
    # gives it to no other job. A script's children are frozen; a signal stops
    # only the script.
    @unittest.skipIf(hierarchy.COMOUNTED, "SKIPPED: no job lends to another "
                     "where cpu and cpuacct are one hierarchy")
    def test_a_suspended_job_lends_and_gets_its_cpu_back(self):
        lender = self.submit_script("suspended", 4, "--loader-threads=1")
        borrower = self.submit("beside", 4)
        # Two running jobs may share a physical core, or its turbo clock.
        self.rate("beside", 2)
        before = self.rate("suspended", 3)
        home = hierarchy.cpus_in(self.held_by(lender))
        self.suspend(lender)
        self.wait("its CPU to be lent",
                  lambda: home <= self.allowed(borrower))
        self.cluster.command("scontrol", "resume", str(lender))
        self.wait("the CPU to come home",
                  lambda: not home & self.allowed(borrower))
        self.wait("its rate to be what it was",
                  lambda: self.rate("suspended", 2) > 0.8 * before)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def submit_script(self, name, slices, *flags):
        """Like submit(), with a shell between Slurm and the trainer."""
        job = self.cluster.sbatch(
            f"#!/bin/sh\n{' '.join(self.trainer(name, slices))}\ntrue\n",
            flags=["--loader=auto", *flags,
                   f"--loader-model={self.profile(name, slices)}"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    def suspend(self, job):
        """Suspends the job and waits: scontrol returns before Slurm has done
        so."""
        done = self.cluster.command("scontrol", "suspend", str(job))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait("Slurm to have suspended it", lambda: (
            f"Suspended StepId={job}.batch" in self.cluster.logs(
                "slurmd", lines=1000)))

    def test_a_suspended_borrower_is_lent_nothing(self):
        borrower = self.submit_script("stopped", 4)
        self.wait_away(borrower)
        self.suspend(borrower)

        def is_lent_nothing():
            last = self.cluster.status(borrower)["changes"][-1]
            return ((last["cause"], last["away_to"]) == ("measured_change", 0)
                    and not self.away_threads(borrower))
        self.wait("nothing to be lent to it", is_lent_nothing)
        self.cluster.command("scontrol", "resume", str(borrower))
        self.wait_away(borrower)
        self.cluster.cancel(borrower)
        self.check_nothing_left()

    def check_report(self, job):
        self.wait("the report", lambda: len(self.reports(job)) == 2)
        for path in self.reports(job):
            self.assertEqual(agent_case.owner_of(path),
                             slurm_files.AGENT_USER)
            for user, may_read in ((self.cluster.users[0], True),
                                   (self.cluster.users[1], False)):
                done = self.cluster.command("test", "-r", path, user=user)
                self.assertEqual(done.returncode == 0, may_read, user)
        report = json.loads(
            pathlib.Path(self.reports(job)[0]).read_text("utf-8"))
        self.assertEqual(report["job_id"], job)
        parts = report["breakdown"]
        total = sum(parts[name]["seconds"] or 0 for name in
                    ("compute", "fetch_stall", "prep_stall",
                     "exchange_stall"))
        self.assertAlmostEqual(total + parts["unattributed_s"],
                               parts["wall_s"], places=3)
        self.assertLess(parts["waited_s"], parts["wall_s"])
        self.assertGreater(report["cores"]["used_away"], 0)
        self.assertEqual(report["quality"]["loader_source"], "registered")
        self.assertTrue(report["changes"])
        timeline = report["timeline"]
        self.assertGreater(len(timeline["rate"]), 3)
        self.assertTrue(any(timeline["rate"]))
        self.assertTrue(any(timeline["used_away_cores"]))

    def test_idle_cpus_are_lent_and_free_before_the_first_instruction(self):
        borrower = self.submit("alone", 4)
        self.wait_away(borrower)
        script = FIRST_ACT.format(
            pattern=hierarchy.away_cpus_pattern(self.cluster.node))
        for _ in range(5):
            self.wait_away(borrower)
            done = self.cluster.srun("sh", "-c", script)
            self.assertEqual(done.returncode, 0, done.stderr)
            *lent, own = done.stdout.split("\n")[:-1]
            mine = hierarchy.cpus_in(own.split()[-1])
            # The group may exist; these CPUs must not be in it.
            for line in lent:
                self.assertEqual(mine & hierarchy.cpus_in(line), set())
        self.cluster.cancel(borrower)
        self.check_nothing_left()

    def test_an_unmanaged_job_is_left_alone(self):
        unmanaged = self.cluster.sbatch(self.trainer("plain", 1 / 3))
        self.cluster.wait_job(unmanaged, "RUNNING")
        borrower = self.submit("borrower2", 4)
        self.wait("the borrower to be known",
                  lambda: self.job_status(borrower) is not None)
        self.rate("borrower2", 3)
        held = hierarchy.cpus_in(self.held_by(unmanaged))
        self.assertEqual(self.allowed(borrower) & held, set())
        self.assertIsNone(self.job_status(unmanaged))
        self.cluster.cancel(unmanaged, borrower)
        self.check_nothing_left()
        self.assertEqual(self.reports(unmanaged), [])

    # Slurm places no other job beside an exclusive one. So the only possible
    # borrower is one of its own steps, and the only CPU that could look idle is
    # one that no step uses. The first test shows that this CPU would be lent if
    # the job did not hold it.
    @contextlib.contextmanager
    def one_step_on_one_cpu(self, name, flags):
        """A step that needs four CPUs and is bound to one; its job."""
        flags = ["--gres=none", "--exact", "--ntasks=1", "--loader=auto",
                 f"--loader-model={self.profile(name, 4)}", *flags]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            srun = pool.submit(
                self.cluster.srun, *self.trainer(name, 4, seconds=60),
                gpus=0, flags=flags)
            try:
                self.wait("the step", lambda: self.cluster.status()["jobs"])
                job = self.cluster.status()["jobs"][0]
                self.assertLess(job["cores"]["allocated"], os.cpu_count())
                yield job["job_id"]
            finally:
                self.cluster.cancel(*(str(entry["id"])
                                      for entry in self.cluster.squeue()))
                srun.result(30)
        self.check_nothing_left()

    def test_a_cpu_that_no_job_holds_is_lent_to_a_step(self):
        with self.one_step_on_one_cpu("shares", []) as job:
            self.wait_away(job)

    def test_an_exclusive_job_lends_to_nobody(self):
        with self.one_step_on_one_cpu("whole", ["--exclusive"]) as job:
            self.assertEqual(self.held_by(job), f"0-{os.cpu_count() - 1}")
            # At least as many checks for idle CPUs as the other test needs.
            for _ in range(6):
                self.rate("whole", 1)
                self.assertEqual(self.away_cpus(job), "")
                self.assertEqual(self.away_threads(job), [])

    def test_two_steps_of_one_job(self):
        train = self.trainer("steps", 1 / 3, seconds=3)
        line = " ".join(train)
        job = self.cluster.sbatch(
            f"#!/bin/sh\nsrun --exact -n1 {line}\nsrun --exact -n1 {line}\n",
            flags=["--loader=auto"])
        self.cluster.wait_job(job)
        self.check_nothing_left()
        self.wait("the report", lambda: self.reports(job))

    def test_two_trainers_in_one_task(self):
        # As torchrun starts them: one task, one process per GPU.
        one, two = (" ".join(self.trainer(name, 1 / 3, seconds=6))
                    for name in ("rank0", "rank1"))
        job = self.cluster.sbatch(f"#!/bin/sh\n{one} & {two} & wait\n",
                                  flags=["--loader=auto"])
        self.wait("both to report", lambda: (self.job_status(job) or {}).get(
            "ranks") == 2, 15)
        self.cluster.wait_job(job)
        self.wait("the report", lambda: self.reports(job))
        report = json.loads(
            pathlib.Path(self.reports(job)[0]).read_text("utf-8"))
        self.assertEqual((report["tasks"], report["ranks"]), (1, 2))
        logged = sum(self.logged_samples(name) for name in ("rank0", "rank1"))
        self.assertAlmostEqual(report["quality"]["samples"] / logged, 1,
                               delta=0.1)

    def logged_samples(self, name):
        log = pathlib.Path(self.cluster.home(), f"{name}.log")
        return json.loads(log.read_text("utf-8").splitlines()[-1])["samples"]


if __name__ == "__main__":
    agent_case.main()

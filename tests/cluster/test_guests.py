"""Guests: jobs without GPUs that Slurm places over others' CPUs. They run where
these leave their CPUs idle, and give way at once."""

import contextlib
import json
import os
import pathlib
import signal
import time

import agent_case
import hierarchy

CPUS = os.cpu_count()
# Of the CPU time that a guest and a busy resident use on the same CPUs.
RESIDENTS = 0.97


class Guests(agent_case.AgentCase):
    cluster_options = {
        "agent": True, "accounts": True,
        "partition": "PriorityTier=10 OverSubscribe=FORCE:1",
        "slurm_lines": ["PartitionName=guest Nodes=ALL MaxTime=INFINITE "
                        "PriorityTier=1 OverSubscribe=FORCE:4"],
        "agent_lines": ("Guests=guest",)}

    # -- jobs -----------------------------------------------------------------

    def computing(self, name, *flags, off_ms=0, cpus=CPUS, gpus=0):
        """A job of as many busy processes as CPUs, started by a shell."""
        log = f"{self.cluster.home()}/{name}.log"
        script = (f"#!/bin/sh\n{self.busy} --workers {cpus} --processes --on "
                  f"1000 --off {off_ms} --seconds 900 --log {log} & wait\n")
        job = self.cluster.sbatch(script, gpus=gpus, cpus=cpus, flags=flags)
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        self.held_by(job)
        return job

    def guest(self, name, *flags, **more):
        return self.computing(name, "--partition=guest", *flags, **more)

    def idle_resident(self):
        job = self.cluster.sbatch(["sleep", "900"], gpus=1, cpus=CPUS,
                                  flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        return job

    # -- what the kernel says -------------------------------------------------

    def used_s(self, *jobs):
        """CPU seconds of each job so far."""
        return [hierarchy.job_s(self.cluster.node, job) for job in jobs]

    def used_over(self, seconds, *jobs):
        """CPU seconds of each job in the next seconds."""
        before = self.used_s(*jobs)
        time.sleep(seconds)
        return [now - then for now, then in zip(self.used_s(*jobs), before)]

    def users_threads(self, job):
        """The job's threads without slurmstepd's, which are root's."""
        found = set()
        for tid in hierarchy.job_threads(self.cluster.node, job):
            with contextlib.suppress(FileNotFoundError):
                if agent_case.owner_of(f"/proc/{tid}") != 0:
                    found.add(tid)
        return found

    def wait_all_away(self, guest):
        self.wait("all threads of the guest to be away", lambda: (
            set(self.away_threads(guest)) == self.users_threads(guest)
            != set()))

    def check_residents_part(self, resident, guest):
        self.wait("the resident to compute",
                  lambda: self.used_over(0.5, resident)[0] > 0.2)
        own_s, guests_s = self.used_over(4, resident, guest)
        self.assertGreater(own_s / (own_s + guests_s), RESIDENTS)

    # -- tests ----------------------------------------------------------------

    def test_a_later_job_starts_at_once_and_has_its_cpus(self):
        guest = self.guest("first")
        self.wait_all_away(guest)
        resident = self.computing("later", "--loader=auto", gpus=1)
        self.assertEqual(self.held_by(resident), self.held_by(guest))
        self.check_residents_part(resident, guest)
        self.cluster.cancel(guest, resident)
        self.check_nothing_left()

    def test_it_uses_what_a_job_leaves_idle_and_says_whose_it_was(self):
        resident = self.idle_resident()
        guest = self.guest("user")
        self.wait_all_away(guest)
        self.wait("the guest to be lent all CPUs", lambda: (
            self.cluster.status(guest)["cores"]["granted_away"] > 0
            and hierarchy.cpus_in(self.away_cpus(guest))
            == hierarchy.cpus_in(self.held_by(resident))), 60)
        self.wait("the loan to be used", lambda: (
            self.cluster.status(guest)["cores"]["lent_by"]), 30)
        self.cluster.cancel(guest, resident)
        self.check_nothing_left()
        report = json.loads(pathlib.Path(
            self.reports(guest)[0]).read_text("utf-8"))
        self.assertEqual(report["quality"]["loader_source"], "guest")
        self.assertEqual([it["job_id"] for it in report["cores"]["lent_by"]],
                         [resident])
        self.assertIn(f"lent by: job {resident} ", pathlib.Path(
            self.reports(guest)[1]).read_text("utf-8"))

    def test_a_cpu_is_back_within_100_ms(self):
        resident = self.computing("toggles", "--loader=auto", off_ms=1000,
                                  gpus=1)
        guest = self.guest("recalled")
        self.wait_all_away(guest)
        before = self.cluster.status()["recall"]["count"]
        self.wait("the CPUs to be wanted several times", lambda: (
            self.cluster.status()["recall"]["count"] >= before + 3), 90)
        self.check_time(self.cluster.status()["recall"]["p99_ms"], 100)
        self.cluster.cancel(guest, resident)
        self.check_nothing_left()

    def test_threads_and_a_task_that_ends_do_not_come_home(self):
        resident = self.computing("owner", "--loader=auto", off_ms=1000,
                                  gpus=1)
        log = f"{self.cluster.home()}/threads.log"
        busy = (f"{self.busy} --workers {CPUS} --on 1000 --off 0 --seconds 900 "
                f"--log {log}")
        # Task 0 leaves a process behind, in a session of its own.
        script = ("#!/bin/sh\nsrun -n2 -c1 --overlap sh -c 'if [ $SLURM_PROCID = 0 "
                  f"]; then setsid sleep 901 & sleep 2; else {busy}; fi'\n")
        guest = self.cluster.sbatch(script, gpus=0, cpus=CPUS, flags=[
            "--partition=guest", "-n1"])
        self.addCleanup(self.cluster.cancel, str(guest))
        self.cluster.wait_job(guest, "RUNNING")

        def commands():
            return [hierarchy.content(f"/proc/{tid}/cmdline").split("\0")[:2]
                    for tid in self.users_threads(guest)]
        self.wait("task 0 to have left its process behind", lambda: (
            ["sleep", "901"] in commands()
            and ["sleep", "2"] not in commands()
            and (self.job_status(guest) or {"tasks": 0})["tasks"] >= 2))
        self.wait_all_away(guest)
        before = self.cluster.status()["recall"]["count"]
        self.wait("a CPU to be recalled from threads", lambda: (
            self.cluster.status()["recall"]["count"] >= before + 2), 90)
        self.cluster.cancel(guest, resident)
        self.check_nothing_left()

    def test_no_user_can_refuse_and_no_other_partition_has_guests(self):
        refusing = self.guest("refusing", "--loader=off", cpus=1)
        self.wait_all_away(refusing)
        asking = self.computing("asking", "--loader=guest", cpus=1)
        self.wait("the asking job to be told", lambda: (
            "it is no guest" in str((self.job_status(asking) or {}).get(
                "notes"))))
        with_gpu = self.guest("with_gpu", "--loader=auto", cpus=1, gpus=1)
        self.wait("the job with a GPU to be known",
                  lambda: self.job_status(with_gpu))
        self.assertFalse(self.away_threads(asking))
        self.assertNotEqual(
            self.cluster.status(with_gpu)["quality"]["loader_source"], "guest")
        self.cluster.cancel(refusing, asking, with_gpu)
        self.check_nothing_left()

    def test_it_gives_way_again_after_kill_9_and_after_off(self):
        guest = self.guest("again")
        self.wait_all_away(guest)
        self.cluster.stop_agent(signal.SIGKILL)
        self.wait("the guardian to bring it home",
                  lambda: not self.cluster.penstock_cgroups())
        self.cluster.start_agent()
        self.wait_all_away(guest)
        self.switch("off")
        self.wait("Slurm's groups to hold it",
                  lambda: not self.cluster.penstock_cgroups())
        self.switch("on")
        self.wait_all_away(guest)
        resident = self.computing("last", "--loader=auto", gpus=1)
        self.check_residents_part(resident, guest)
        self.cluster.cancel(guest, resident)
        self.check_nothing_left()

    def test_a_reload_begins_and_ends_the_guests_of_a_partition(self):
        guest = self.guest("reloaded")
        self.wait_all_away(guest)
        self.addCleanup(self.reload_with, "guest")
        self.reload_with("no")
        self.wait("Slurm's groups to hold it",
                  lambda: not self.cluster.penstock_cgroups())
        self.assertIsNone(self.job_status(guest))  # Default=off
        self.reload_with("guest")
        self.wait_all_away(guest)
        self.cluster.cancel(guest)
        self.check_nothing_left()

    def reload_with(self, guests):
        conf = pathlib.Path(self.cluster.directory, "penstock.conf")
        lines = [line for line in conf.read_text("utf-8").splitlines()
                 if not line.startswith("Guests=")]
        conf.write_text("\n".join([*lines, f"Guests={guests}", ""]), "utf-8")
        os.kill(self.cluster.agent_pid, signal.SIGHUP)

    def switch(self, verb):
        done = self.cluster.command(
            str(self.cluster.build / "bin" / "penstock"), verb, "--config",
            f"{self.cluster.directory}/penstock.conf")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Asked(agent_case.AgentCase):
    cluster_options = {"agent": True, "agent_lines": ("Guests=asked",)}

    def test_a_job_may_ask_to_be_a_guest(self):
        job = self.cluster.sbatch(
            [self.busy, "--workers", "2", "--processes", "--on", "100",
             "--off", "0", "--seconds", "900", "--log",
             f"{self.cluster.home()}/asks.log"], gpus=0,
            flags=["--loader=guest"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.wait("it to be a guest", lambda: (
            (self.job_status(job) or {"quality": {}})["quality"].get(
                "loader_source") == "guest" and self.away_threads(job)))
        # Beside its own CPU it gets those that no job holds.
        self.wait("it to be lent idle CPUs", lambda: (
            len(hierarchy.cpus_in(self.away_cpus(job))) == CPUS), 60)
        self.cluster.cancel(job)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()

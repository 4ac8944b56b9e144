"""Penstock on a site, together with Slurm's own accounting, limits and
kills, and with systemd."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import site_case
from site_case import USER, journal, run, wait

# Runs its arguments, then prints the CPU time of itself and its children.
COUNT_CPU = """#!/usr/bin/python3
import resource, subprocess, sys
subprocess.run({argv!r}, check=True)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
own = resource.getrusage(resource.RUSAGE_SELF)
print("CPU_S", use.ru_utime + use.ru_stime + own.ru_utime + own.ru_stime)
"""

# A loader with two workers per CPU. When a file eat.PID exists, that worker
# exceeds the step's memory limit; the rest of the job continues.
HOG = """#!/bin/sh
srun --mem=120 python3 -c '
import os, signal, time
workers = []
for _ in 2 * list(os.sched_getaffinity(0)):
    pid = os.fork()
    if pid == 0:
        while not os.path.exists(f"eat.{os.getpid()}"): pass
        blocks = []
        while True: blocks.append(bytearray(b"x" * (1 << 20)))
    workers.append(pid)
eater = os.wait()[0]
for pid in set(workers) - {eater}: os.kill(pid, signal.SIGKILL)
time.sleep(1)
'
echo step $?
echo batch lives
"""


def seconds_of(text):
    """Parses Slurm's "1-02:03:04.567" or "03:04.567" into seconds."""
    days, _, clock = text.rpartition("-")
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


class Site(site_case.SiteCase):
    def test_doctor_finds_nothing_to_mend(self):
        done = run(["penstock", "doctor", "--json"], check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        findings = json.loads(done.stdout)
        self.assertGreater(len(findings), 10)
        self.assertEqual([it for it in findings
                          if it["status"] in ("warn", "fail")], [])
        self.assertEqual(run(["systemctl", "is-active", "penstockd"])
                         .stdout.strip(), "active")

    def test_the_unit_has_few_rights(self):
        # The highest allowed exposure, in tenths.
        done = run(["systemd-analyze", "security", "--no-pager",
                    "--threshold=25", "penstockd"], check=False)
        print(done.stdout.strip().splitlines()[-1], flush=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_version_names_the_release_of_slurm(self):
        major, minor = site_case.slurm_release()
        self.assertIn(f"Slurm {major:02}.{minor:02}",
                      run(["penstock", "--version"]).stdout)

    def test_slurm_accounts_for_threads_that_were_away(self):
        argv = self.trainer("counted", 4, 60)
        job = self.sbatch(COUNT_CPU.format(argv=argv),
                          self.profile("counted", 4))
        self.wait_job(job, "RUNNING")
        self.wait_away()
        sampled = self.sstat_seconds(job)
        self.wait_job(job, "COMPLETED", 300)
        own = float(re.search(r"CPU_S (\S+)", self.output(job)).group(1))

        def accounted():
            text = run(["sacct", "-n", "-P", "-j", f"{job}.batch", "-o",
                        "State,TotalCPU,TRESUsageInTot"]).stdout.strip()
            state, _, used = text.partition("|")
            return state == "COMPLETED" and used.split("|")
        ended, sampled_last = wait("sacct to know the job", accounted, 60)
        # The processes' own figures at their end, and Slurm's figure of their
        # group.
        ended = seconds_of(ended)
        counted = seconds_of(re.search(r"cpu=([^,]+)", sampled_last).group(1))
        print(f"sacct {ended} s (TotalCPU), {counted} s (TRESUsageInTot), the "
              f"processes themselves {own:.2f} s; sstat on the way {sampled}",
              flush=True)
        self.assertGreater(sampled, 0)
        self.assertLess(abs(ended / own - 1), 0.02)
        # Slurm omits the fraction of a second.
        self.assertGreater(own, 50)
        self.assertLess(abs(counted + 0.5 - own), 0.02 * own)
        cores = self.report(job)["cores"]
        self.assertGreater(cores["used_away"], 0.2 * cores["used_home"])
        self.check_nothing_left()

    def sstat_seconds(self, job):
        """sstat's figure, as soon as there is one."""
        def shown():
            text = run(["sstat", "-n", "-P", "-a", "-j", f"{job}.batch", "-o",
                        "AveCPU"], check=False).stdout.strip()
            return re.fullmatch(r"[\d:.-]+", text) and seconds_of(text)
        return wait("sstat to count CPU time", shown, 60)

    def test_who_is_away_is_killed_with_the_job(self):
        for number in range(3):
            job = self.submit(f"killed{number}", 4)
            away = self.wait_away()
            run(["scancel", job])
            self.check_nothing_left()
            for tid in away:
                self.assertFalse(os.path.exists(f"/proc/{tid}"))

    def test_a_loader_beyond_the_memory_of_its_step_is_killed_alone(self):
        job = self.sbatch(HOG, "--mem=300", "--loader-match=python3*")
        worker = self.wait_away(180)[0]
        self.assertTrue(os.path.exists(f"/proc/{worker}"))
        eat = pathlib.Path(f"/home/{USER}/eat.{worker}")
        eat.touch()
        self.addCleanup(eat.unlink)
        self.wait_job(job, "COMPLETED", 300)
        self.assertFalse(os.path.exists(f"/proc/{worker}"))
        self.assertIn("batch lives", self.output(job))
        kernel = run(["journalctl", "-q", "-k", "--no-pager", "-o", "cat",
                      "--after-cursor", self.seen]).stdout
        self.assertIn(f"Killed process {worker} ", kernel)

        def states():
            return run(["sacct", "-n", "-P", "-j", f"{job}.0", "-o",
                        "State"]).stdout.strip()
        self.assertEqual(wait("sacct to know the step", states),
                         "OUT_OF_MEMORY")
        self.check_nothing_left()

    # -- what systemd and Slurm rewrite -----------------------------------------

    def is_lent_to(self, job):
        """Whether its group has more CPUs than Slurm gave it, with threads
        there. The lent CPUs change frequently, because their owners need
        them."""
        cpus = pathlib.Path(self.only_job_dir(), "cpuset.cpus")
        return (site_case.cpus_in(cpus.read_text("ascii"))
                > site_case.cpus_in(self.held_by(job)) and self.away_threads())

    def check_lent_after(self, job, *argv):
        """After the command the loan is unchanged, or exists again soon; the
        job continues."""
        run(argv, 300)
        wait(f"the loan after {' '.join(argv)}",
             lambda: self.is_lent_to(job), 30)
        self.assertEqual(len(self.job_dirs()), 1)

    def test_systemd_and_slurmd_may_start_anew_under_a_loan(self):
        job = self.submit("reloaded", 4)
        self.wait_away()
        self.check_lent_after(job, "systemctl", "daemon-reload")
        self.check_lent_after(job, "systemctl", "daemon-reexec")
        self.check_lent_after(job, "systemctl", "restart", "slurmd")
        self.check_lent_after(job, "systemctl", "restart", "penstockd")
        self.check_lent_after(job, "scontrol", "reconfigure")
        self.assertEqual(self.job(job)["JobState"], "RUNNING")
        run(["scancel", job])
        self.check_nothing_left()

    def test_io_limits_reach_the_job(self):
        job = self.submit("read", 4)
        limits = pathlib.Path(self.only_job_dir(), "io.max")
        wait("a limit", limits.read_text)
        self.assertIn("rbps=", limits.read_text("ascii"))
        run(["systemctl", "daemon-reload"])
        wait("the limit after a reload", limits.read_text)
        site_case.write_control(f"{self.scope()}/cgroup.subtree_control", "-io")
        wait("the limit within a second of its loss",
             lambda: limits.exists() and limits.read_text(), 1)
        run(["scancel", job])
        self.check_nothing_left()

    # -- faults -----------------------------------------------------------------

    def test_a_second_agent_leaves_at_once(self):
        done = run(["/usr/sbin/penstockd"], check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(done.stdout.strip().splitlines()), 1,
                         done.stdout)
        self.assertEqual(run(["systemctl", "is-active", "penstockd"])
                         .stdout.strip(), "active")

    def test_a_plugin_for_another_release_is_named_and_jobs_run(self):
        plugin = pathlib.Path(site_case.PLUGIN)
        keep = pathlib.Path("/root/spank_penstock.so")
        shutil.copy2(plugin, keep)
        self.addCleanup(shutil.copy2, keep, plugin)
        self.patch_version(plugin)
        log = pathlib.Path("/var/log/slurm/slurmd.log")
        size = log.stat().st_size
        done = run(["srun", "-n1", "echo", "ran"], user=USER, check=False)
        batch = run(["sbatch", "-n1", "--wrap", "echo ran"], user=USER,
                    check=False)
        self.check_nothing_left()
        shutil.copy2(keep, plugin)
        self.assertEqual((done.returncode, batch.returncode), (0, 0),
                         done.stdout + batch.stdout)
        job = re.search(r"batch job (\d+)", batch.stdout).group(1)
        self.assertEqual(self.output(job), "ran\n")
        self.assertIn("ran", done.stdout.splitlines())
        self.check_names(plugin, done.stdout)
        steps = log.read_text("utf-8", "replace")[size:]
        for step in (r"\d+\.0", rf"{job}\.batch"):
            self.check_names(plugin, "\n".join(
                re.findall(rf"(?m)^.*\[{step}\].*$", steps)))

    def check_names(self, plugin, text):
        """One log line of a command or a step gives the reason for not
        loading the plugin. Slurm's own lines at that place give no other
        reason."""
        told = [line for line in text.splitlines() if "spank_penstock" in line]
        print(*told, sep="\n", flush=True)
        self.assertEqual(len([line for line in told if
                              "Incompatible Slurm plugin" in line]), 1, text)
        for line in told:
            self.assertIn(str(plugin), line)
            self.assertRegex(line, "Incompatible|Failed to load optional "
                             "plugin .* Ignored")

    def patch_version(self, plugin):
        """Sets plugin_version of a copy to another release."""
        found = re.search(r"(?m)^([0-9a-f]+) .*\bplugin_version$",
                          run(["objdump", "-T", plugin]).stdout)
        data = bytearray(plugin.read_bytes())
        major, minor = site_case.slurm_release()
        # In this file, .rodata has its address as offset: it is in the first
        # segment.
        address = int(found.group(1), 16)
        self.assertEqual(data[address + 2], major)
        data[address + 2] = major - 1
        plugin.unlink()
        plugin.write_bytes(data)

    def test_off_takes_every_loan_back_and_on_lends_again(self):
        job = self.submit("off", 4)
        self.wait_away()
        held = pathlib.Path(self.only_job_dir(), "cpuset.cpus")
        lent = held.read_text("ascii")
        limits = pathlib.Path(self.only_job_dir(), "io.max")
        wait("a limit", limits.read_text)
        run(["penstock", "off"])
        self.addCleanup(run, ["penstock", "on"], check=False)
        self.assertEqual(self.away_threads(), [])
        self.assertNotEqual(held.read_text("ascii"), lent)
        self.check_as_slurm_made_it(job, self.held_by(job))
        time.sleep(5)
        self.assertEqual(self.away_threads(), [])
        self.assertEqual(self.job(job)["JobState"], "RUNNING")
        run(["penstock", "on"])
        self.wait_away()
        wait("the limit again", limits.read_text)


if __name__ == "__main__":
    site_case.main()

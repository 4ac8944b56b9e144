"""Properties of the unified hierarchy: groups of ours are inside Slurm's
groups, which Slurm rewrites, counts and removes."""

import concurrent.futures
import json
import os
import pathlib
import re
import sys
import time

import agent_case
import embedded
import hierarchy
import python_jobs

JOBS = 200
AT_ONCE = 3  # so that CPUs are idle, and lent
BORROWERS = 50  # at least so many of the jobs borrow
# Messages of slurmstepd, which logs EBUSY only with DebugFlags=Cgroup. It logs
# the first one for the job's group whenever another step exists, also without
# Penstock (24.11.5).
COMPLAINT = re.compile(r"Cannot rmdir\(\S*/step_|Unable to rmdir\(|"
                       r"/step_.*(EBUSY|resource busy)")

# A loader with worker processes that could use more CPUs than it has.
WORKERS = """
import multiprocessing, sys, time
sys.path.insert(0, {module!r})
import penstock

def prepare(index):
    end = time.thread_time() + 0.004
    while time.thread_time() < end:
        pass
    return index

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        for batch in penstock.watch(pool.map(prepare, range(8))
                                    for _ in iter(int, 1)):
            pass
"""


class Unified(python_jobs.JobsOfPython):
    # Otherwise Slurm would forget the jobs' exit states after five minutes.
    cluster_options = {"agent": True, "slurm_lines": ["DebugFlags=Cgroup",
                                                      "MinJobAge=36000"]}

    def job_cpus(self, job):
        directory = hierarchy.job_dir(self.cluster.node, job)
        return hierarchy.cpus_in(
            pathlib.Path(directory, "cpuset.cpus").read_text())

    def check_no_directory_left(self):
        self.check_nothing_left()
        self.wait("Slurm to remove its jobs' directories",
                  lambda: not hierarchy.left_in_scopes(self.cluster.node))

    # Changes by Slurm for a new step, by systemd at a reload, or by an admin.
    def test_what_others_write_is_put_back_within_a_second(self):
        job = self.submit("rewritten", 4)
        self.wait_away(job)
        held = self.held_by(job)
        top = pathlib.Path(hierarchy.job_dir(self.cluster.node, job))
        group = hierarchy.away_groups(self.cluster.node, job)[0]
        user = pathlib.Path(group, "../../cpuset.cpus")
        self.assertEqual(pathlib.Path(group, "cpu.idle").read_text(), "1\n")
        took_s = []

        def is_wider(text):
            return hierarchy.cpus_in(text) > hierarchy.cpus_in(held)

        for _ in range(5):
            for name, theirs, is_ours in (
                    ("cpuset.cpus", held, is_wider),
                    (user, held, is_wider),
                    ("cpu.weight", "100", lambda text: text == "10")):
                def is_there(file=top / name, is_ours=is_ours):
                    return is_ours(file.read_text("ascii").strip())

                self.wait(f"{name} to be ours", is_there)
                (top / name).write_text(theirs, "ascii")
                written = time.monotonic()
                self.wait(f"{name} to be ours again", is_there)
                took_s.append(time.monotonic() - written)
        print(json.dumps({"put_back_s": [round(s, 2) for s in took_s]}),
              flush=True)
        self.assertLess(max(took_s), 1 * embedded.PATIENCE)
        self.cluster.cancel(job)
        self.check_no_directory_left()

    def test_slurm_writes_its_own_for_a_new_step(self):
        job = self.submit("stepped", 4)
        self.wait_away(job)
        held = hierarchy.cpus_in(self.held_by(job))
        seen = []
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            for _ in range(5):
                self.wait("CPUs to be lent", lambda: self.job_cpus(job) > held)
                step = pool.submit(self.cluster.srun, "true", gpus=0, flags=[
                    f"--jobid={job}", "--overlap", "--gres=none"])
                while not step.done():
                    seen.append(self.job_cpus(job))
                    time.sleep(0.005)
                self.assertEqual(step.result().returncode, 0,
                                 step.result().stderr)
        self.assertIn(held, seen)
        self.wait("CPUs to be lent again", lambda: self.job_cpus(job) > held)
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

    def test_worker_processes_that_are_away_are_killed_with_the_job(self):
        for number in range(3):
            job = self.start_python(f"workers{number}", WORKERS)
            away = []
            self.wait("a worker to be away", lambda job=job, away=away: (
                away.extend(filter(hierarchy.is_process,
                                   self.away_threads(job)))
                or away), 60)
            self.cluster.cancel(job)
            self.check_no_directory_left()
            for pid in away:
                self.assertFalse(os.path.exists(f"/proc/{pid}"))

    def switch(self, word):
        done = self.cluster.command(
            self.cluster.expose(self.cluster.build / "bin/penstock"), word,
            "--config", f"{self.cluster.directory}/penstock.conf", timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    # The kernel refuses to empty the cpuset of a group with a process.
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

    # penstockd samples a job every second; the kernel updates its sums every two.
    def test_stalls_are_what_the_kernel_says_of_the_job(self):
        busy = self.cluster.expose(
            embedded.build_directory() / "bin" / "busy")
        job = self.cluster.sbatch(
            [busy, "--workers", str(2 * os.cpu_count()), "--processes", "--on",
             "1000", "--off", "0", "--seconds", "600", "--log",
             f"{self.cluster.home()}/busy.log"], flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")

        def kernel_s():
            file = pathlib.Path(hierarchy.job_dir(self.cluster.node, job),
                                "cpu.pressure")
            some = re.match(r"some .* total=(\d+)\n", file.read_text("ascii"))
            return int(some[1]) / 1e6

        def told_s():
            return self.cluster.status(job)["pressure"]["cpu_s"]

        self.wait("a stall to be told of", lambda: (
            self.job_status(job) is not None and told_s()))
        self.assertEqual(self.cluster.status(job)["pressure"]["method"],
                         "PSI some")
        kernel_before_s, told_before_s = kernel_s(), told_s()
        self.wait("ten seconds of stall",
                  lambda: kernel_s() - kernel_before_s > 10, 60)
        self.assertAlmostEqual(told_s() - told_before_s,
                               kernel_s() - kernel_before_s, delta=4)
        self.cluster.cancel(job)
        self.check_no_directory_left()

    def test_home_threads_cannot_leave_their_cpus(self):
        # taskset is the way in which a user's program pins itself.
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
        """Starts one of several kinds of jobs."""
        name = f"mix{number % AT_ONCE}"
        short = " ".join(self.trainer(name, 4, seconds=6))
        managed = ["--loader=auto", f"--loader-model={self.profile(name, 4)}"]
        if number % 20 == 3:  # without a batch step
            done = self.cluster.srun(*short.split(), gpus=0, flags=managed,
                                     timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return
        script, flags = [
            (f"#!/bin/sh\nexec {short}\n", []),
            (f"#!/bin/sh\nsrun {short}\nsrun --exact -n1 true\n", []),
            ("#!/bin/sh\nexec sleep 1\n", ["--array=0-1"]),
            (f"#!/bin/sh\nsrun {short} &\nsrun --overlap sleep 1 &\nwait\n",
             []),
        ][number % 5]
        self.cluster.sbatch(script, gpus=0, flags=[*managed, *flags])

    def cancel_one(self, number):
        """Cancels a job while threads of it are away, or while it is
        suspended, or after it was resumed."""
        job = self.submit(f"gone{number}", 4, gpus=0)
        self.wait_away(job, 60)
        for word, state in ((("suspend", "SUSPENDED"), ("resume", "RUNNING"))
                            [:number % 3]):
            done = self.cluster.command("scontrol", word, str(job))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.cluster.wait_job(job, state)
        self.cluster.cancel(str(job))

    def wait_room(self, jobs):
        self.wait("room in the queue",
                  lambda: len(self.cluster.squeue()) < jobs, 180)

    def test_of_200_jobs_no_directory_is_left(self):
        over_time = []
        for number in range(JOBS):
            if number % 5 == 4:
                self.wait_room(2)
                self.cancel_one(number // 5)
            else:
                self.wait_room(AT_ONCE)
                self.start_one(number)
            if number % 66 == 1:  # its limit is in whole minutes
                over_time.append(self.cluster.sbatch(
                    self.trainer("over_time", 4, seconds=100000), gpus=0,
                    flags=["--loader=auto", "--time=1"]))
        for job in over_time:
            self.cluster.wait_job(job, "TIMEOUT", 180)
        self.cluster.wait_empty(120)
        self.check_no_directory_left()
        log = self.cluster.logs("slurmd", lines=1000000)
        self.assertIn("CGROUP: ", log)
        self.assertEqual(list(filter(COMPLAINT.search, log.splitlines())), [])
        self.check_who_borrowed()

    def check_who_borrowed(self):
        """Jobs that borrowed nothing had no groups of ours that could
        remain."""
        folder = pathlib.Path(self.cluster.directory, "reports")
        reports = [json.loads(path.read_text("utf-8"))
                   for path in folder.glob("*/*.json")]
        borrowers = sum((report["cores"]["used_away"] or 0) > 0
                        for report in reports)
        print(json.dumps({"reports": len(reports), "borrowers": borrowers}),
              flush=True)
        self.assertGreaterEqual(borrowers, BORROWERS)


if __name__ == "__main__":
    if not hierarchy.UNIFIED:
        print("SKIPPED: cgroup v1 here; tests/vm/run has the unified hierarchy")
        sys.exit(77)
    agent_case.main()

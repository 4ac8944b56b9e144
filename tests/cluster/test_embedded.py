"""The embedded Slurm itself: it works, and it leaves nothing behind."""

import glob
import os
import pathlib
import pwd
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import cluster_case
import embedded
import hierarchy
import janitor

HERE = pathlib.Path(__file__).resolve().parent

# A program with a running job in a cluster; then it only waits.
VICTIM = """
import signal
import sys
sys.path.insert(0, {here!r})
# A terminal's program: a shell's background job has SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
import embedded
with embedded.EmbeddedCluster(plugin=False) as cluster:
    job = cluster.sbatch(["sleep", "1000"])
    cluster.wait_job(job, "RUNNING")
    print(cluster.node, cluster.directory, cluster.user, flush=True)
    sys.stdin.read()
"""


def leftovers(node, directory, user):
    """All remaining parts of a cluster."""
    found = hierarchy.slurm_trees(node) + hierarchy.our_groups(node)
    found += [path for path in [hierarchy.cage(node)] if os.path.isdir(path)]
    found += [directory] if os.path.exists(directory) else []
    try:
        found.append(pwd.getpwnam(user).pw_name)
    except KeyError:
        pass
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            if f"SLURM_CONF={directory}".encode() in pathlib.Path(
                    path).read_bytes():
                found.append(path)
        except OSError:
            pass  # it has ended
    return found


class LeavesNothing(unittest.TestCase):
    def check_gone(self, names):
        gone = janitor.wait_until(lambda: not leftovers(*names), 30)
        self.assertTrue(gone, leftovers(*names))

    def test_after_stop_and_a_second_stop(self):
        cluster = embedded.EmbeddedCluster(plugin=False)
        names = cluster.node, cluster.directory, cluster.user
        with cluster:
            cluster.wait_job(cluster.sbatch(["sleep", "1000"]), "RUNNING")
            self.assertTrue(leftovers(*names))
        self.assertEqual(leftovers(*names), [])
        cluster.stop()

    def check_killed(self, number):
        with subprocess.Popen(
                [sys.executable, "-c", VICTIM.format(here=str(HERE))],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True) as victim:
            names = victim.stdout.readline().split()
            self.assertEqual(len(names), 3)
            self.assertTrue(leftovers(*names))
            victim.send_signal(number)
            victim.wait(timeout=60)
            self.assertNotEqual(victim.returncode, 0)
        self.check_gone(names)

    def test_after_sigkill(self):
        self.check_killed(signal.SIGKILL)

    def test_after_sigterm(self):
        self.check_killed(signal.SIGTERM)

    def test_after_ctrl_c(self):
        self.check_killed(signal.SIGINT)

    def test_after_a_failed_start(self):
        cluster = embedded.EmbeddedCluster(plugin=False,
                                           slurm_lines=["NoSuchKey=1"])
        names = cluster.node, cluster.directory, cluster.user
        with self.assertRaises(embedded.ClusterError) as caught, cluster:
            pass
        self.assertIn("NoSuchKey", str(caught.exception))
        self.assertEqual(leftovers(*names), [])

    def test_two_at_once(self):
        with embedded.EmbeddedCluster(plugin=False) as one, \
                embedded.EmbeddedCluster(plugin=False) as two:
            self.assertNotEqual(one.node, two.node)
            for cluster in (one, two):
                done = cluster.srun("sh", "-c", "echo $SLURMD_NODENAME")
                self.assertEqual(done.stdout.strip(), cluster.node)


class Works(cluster_case.ClusterCase):
    cluster_options = {"plugin": False, "users": 2}

    def test_jobs_are_an_ordinary_users(self):
        done = self.cluster.srun("id", "-un")
        self.assertEqual(done.stdout.strip(), self.cluster.user)
        other = self.cluster.users[1]
        done = self.cluster.srun("id", "-un", user=other)
        self.assertEqual(done.stdout.strip(), other)

    def test_gpus_and_cores(self):
        done = self.cluster.srun(
            "sh", "-c", "echo $CUDA_VISIBLE_DEVICES; nproc", gpus=1, cpus=1)
        self.assertEqual(done.stdout.split(), ["0", "1"])

    def test_cores_are_constrained_by_cgroups(self):
        done = self.cluster.srun("cat", "/proc/self/cgroup")
        self.assertTrue(hierarchy.in_step(self.cluster.node, done.stdout),
                        done.stdout)

    def test_a_jobs_processes_are_no_daemons(self):
        job = self.cluster.sbatch(["sleep", "60"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.cluster.wait_job(job, "RUNNING")
        self.cluster._wait("its processes", lambda: hierarchy.job_threads(
            self.cluster.node, job), 20)
        threads = map(str, hierarchy.job_threads(self.cluster.node, job))
        daemons = hierarchy.daemons_s(self.cluster.node)
        self.assertGreater(len(daemons), 2)  # munged, slurmctld and slurmd
        self.assertFalse(set(threads) & set(daemons))

    def test_queue_and_cancel(self):
        jobs = [self.cluster.sbatch(["sleep", "1000"])
                for _ in range(self.cluster.cpus + 1)]
        self.cluster.wait_job(jobs[0], "RUNNING")
        queue = {job["id"]: job["state"] for job in self.cluster.squeue()}
        self.assertEqual(sorted(queue), jobs)
        self.assertEqual(queue[jobs[-1]], "PENDING")
        self.cluster.cancel(*jobs)
        self.cluster.wait_job(jobs[0], "CANCELLED")
        self.cluster.wait_empty()

    def test_output_and_exit_status(self):
        job = self.cluster.sbatch("#!/bin/sh\necho hello\n")
        self.cluster.wait_job(job)
        self.assertEqual(self.cluster.output(job), "hello\n")
        job = self.cluster.sbatch("#!/bin/sh\nexit 3\n")
        with self.assertRaisesRegex(embedded.ClusterError, "is FAILED"):
            self.cluster.wait_job(job)

    def test_waits_are_bounded(self):
        job = self.cluster.sbatch(["sleep", "1000"])
        start = time.monotonic()
        with self.assertRaisesRegex(embedded.ClusterError,
                                    f"waited {embedded.PATIENCE} s"):
            self.cluster.wait_job(job, "COMPLETED", timeout=1)
        self.assertLess(time.monotonic() - start, 10 * embedded.PATIENCE)
        self.cluster.cancel(job)

    def test_a_file_of_a_closed_directory_can_be_exposed(self):
        with tempfile.TemporaryDirectory() as closed:
            source = pathlib.Path(closed, "tool")
            source.write_text("#!/bin/sh\necho ran\n", "utf-8")
            source.chmod(0o755)
            self.assertNotEqual(self.cluster.srun(str(source)).returncode, 0)
            done = self.cluster.srun(self.cluster.expose(source))
            self.assertEqual(done.stdout, "ran\n")


if __name__ == "__main__":
    cluster_case.main()

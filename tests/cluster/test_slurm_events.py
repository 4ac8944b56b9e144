"""The controller's view of Slurm's jobs, with a real slurmctld."""

import json
import queue
import subprocess
import threading
import time
import unittest

import cluster_case
import embedded
import hierarchy
import slurm_files

PATIENCE_S = 60 * embedded.PATIENCE


class Watcher:
    """The program slurm_events and its output so far."""

    def __init__(self, cluster):
        self.process = subprocess.Popen(
            [cluster.build / "bin" / "slurm_events"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=cluster.env)
        self.told = []
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def wait(self, what, *wanted):
        """Waits until lines match the wanted dicts in this order, with other
        lines allowed in between; returns the lines."""
        found = []
        deadline = time.monotonic() + PATIENCE_S
        for line in wanted:
            while True:
                left = deadline - time.monotonic()
                try:
                    now = self._lines.get(timeout=max(left, 0))
                except queue.Empty:
                    raise AssertionError(
                        f"{what}: {line} was not told; after {found} only "
                        f"{self.told[-8:]}") from None
                self.told.append(now)
                if all(now.get(key) == value for key, value in line.items()):
                    found.append(now)
                    break
        return found

    def close(self):
        self.process.stdin.close()
        try:
            return self.process.wait(timeout=20)
        finally:
            self.process.kill()
            self.process.stdout.close()


class SlurmEvents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        lines = []
        cls.cluster = embedded.EmbeddedCluster(
            cpus=4, plugin=False, slurm_lines=lines)
        cls.second = cls.cluster.node + "n1"  # the janitor's jobs, too
        directory = cls.cluster.directory
        port, = slurm_files.free_ports(3)[2:]
        hostname = slurm_files.socket.gethostname()
        lines += [
            f"SlurmdSpoolDir={directory}/spool.%n",
            f"SlurmdPidFile={directory}/slurmd.%n.pid",
            f"SlurmdLogFile={directory}/log/slurmd.%n.log",
            f"NodeName={cls.second} NodeHostname={hostname} "
            f"NodeAddr=127.0.0.1 Port={port} CPUs=4",
            f"PartitionName=both Nodes={cls.cluster.node},{cls.second} "
            "MaxTime=INFINITE"]
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()
        cls.cluster._start_daemon("slurmd2", *hierarchy.slurmd_argv(
            cls.second, "-D", "-N", cls.second))
        cls.cluster._wait("the second node to be idle", lambda: "idle" ==
                          cls.cluster.command("sinfo", "-h", "-n", cls.second,
                                              "-o", "%t").stdout.strip(),
                          PATIENCE_S, ("slurmd2",))
        cls.watcher = Watcher(cls.cluster)
        cls.addClassCleanup(cls.watcher.close)

    def submit(self, script="#!/bin/sh\nexec sleep 600\n", **options):
        options.setdefault("gpus", 0)
        job = self.cluster.sbatch(script, **options)
        self.addCleanup(self.cluster.cancel, str(job))
        return job

    def scontrol(self, *argv):
        done = self.cluster.command("scontrol", *map(str, argv))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_1_nodes_are_told_with_their_cpus(self):
        for name in (self.cluster.node, self.second):
            self.assertTrue(any(
                line.get("event") == "node" and line["node"] == name
                and line["node_cpus"] == 4
                for line in self.nodes_told()), name)

    def nodes_told(self):
        if not any(line.get("event") == "node" for line in self.watcher.told):
            self.watcher.wait("both nodes", {"event": "node"},
                              {"event": "node"})
        return self.watcher.told

    def test_a_job_is_told_with_all_that_it_asked_for(self):
        job = self.submit(
            "#!/bin/sh\nexec sleep 3\n", gpus=2, cpus=3,
            flags=["--account=physics", "--job-name=train_7", "--ntasks=1"])
        started, ended = self.watcher.wait(
            "the job", {"event": "started", "job": job},
            {"event": "ended", "job": job})
        slurm = self.cluster.job(job)
        self.assertEqual(started["name"], "train_7")
        self.assertEqual(started["account"], "physics")
        self.assertEqual(started["nodes"], self.cluster.node)
        self.assertEqual(started["node_count"], 1)
        self.assertEqual(started["cpus"], 3)
        self.assertEqual(started["tasks"], 1)
        self.assertEqual(started["gpus"], 2)
        self.assertIn(f"({started['uid']})", slurm["UserId"])
        self.assertEqual(started["restart_count"], 0)
        self.assertIsNone(started["array_job"])
        self.assertIsNone(started["het_job"])
        self.assertEqual(ended["state"], "COMPLETED")
        self.assertGreaterEqual(ended["end"], ended["start"])
        self.assertGreaterEqual(ended["start"], ended["submit"])

    def test_each_task_of_an_array_is_a_job(self):
        array = self.submit(flags=["--array=3-4"])
        tasks = self.watcher.wait("two tasks",
                                  {"event": "started", "array_job": array},
                                  {"event": "started", "array_job": array})
        self.assertEqual(sorted(task["array_task"] for task in tasks), [3, 4])
        self.assertEqual(len({task["job"] for task in tasks}), 2)
        self.cluster.cancel(f"{array}_3")
        three = next(task for task in tasks if task["array_task"] == 3)
        self.watcher.wait("one task's end", {
            "event": "ended", "job": three["job"], "state": "CANCELLED"})

    def test_each_component_of_a_het_job_is_a_job(self):
        lead = self.submit("#!/bin/sh\n#SBATCH --partition=both --ntasks=1\n"
                           "#SBATCH hetjob\n"
                           "#SBATCH --partition=both --ntasks=1\n"
                           "exec sleep 600\n")
        parts = self.watcher.wait("two components",
                                  {"event": "started", "het_job": lead},
                                  {"event": "started", "het_job": lead})
        self.assertEqual([part["het_offset"] for part in parts], [0, 1])
        self.assertEqual(parts[0]["job"], lead)
        self.assertNotEqual(parts[1]["job"], lead)

    def test_a_requeued_job_keeps_its_number(self):
        job = self.submit(flags=["--requeue"])
        self.watcher.wait("the start", {"event": "started", "job": job,
                                        "restart_count": 0})
        self.scontrol("requeue", job)
        # Slurm holds a requeued job for a while; the test starts it at once.
        self.watcher.wait("the requeue", {"event": "requeued", "job": job,
                                          "restart_count": 0})
        self.scontrol("update", f"JobId={job}", "StartTime=now")
        second, = self.watcher.wait("the second run", {
            "event": "started", "job": job, "restart_count": 1})
        self.assertEqual(second["nodes"], self.cluster.node)
        self.cluster.cancel(str(job))
        self.watcher.wait("its end", {"event": "ended", "job": job,
                                      "restart_count": 1,
                                      "state": "CANCELLED"})

    def test_a_job_is_suspended_and_resumed(self):
        job = self.submit()
        self.watcher.wait("the start", {"event": "started", "job": job})
        self.scontrol("suspend", job)
        self.watcher.wait("suspended", {"event": "suspended", "job": job,
                                        "state": "SUSPENDED"})
        self.scontrol("resume", job)
        self.watcher.wait("resumed", {"event": "resumed", "job": job,
                                      "state": "RUNNING"})

    def test_a_job_that_shrinks_is_resized(self):
        job = self.submit(flags=["--partition=both", "--nodes=2",
                                 "--ntasks-per-node=1"])
        started, = self.watcher.wait("the start",
                                     {"event": "started", "job": job})
        self.assertEqual(started["node_count"], 2)
        self.assertEqual(started["cpus"], 2)
        # Slurm 24.11 rejects NumNodes= for a running job.
        self.scontrol("update", f"JobId={job}",
                      f"NodeList={self.cluster.node}")
        resized, = self.watcher.wait("the new size",
                                     {"event": "resized", "job": job})
        self.assertEqual(resized["node_count"], 1)
        self.assertEqual(resized["cpus"], 1)
        self.assertEqual(resized["nodes"], self.cluster.node)

    def test_a_job_cancelled_while_it_waits_never_ran(self):
        job = self.submit(flags=["--hold"])
        self.cluster.cancel(str(job))
        marker = self.submit("#!/bin/sh\ntrue\n")
        self.watcher.wait("a later job", {"event": "ended", "job": marker})
        self.assertFalse([line for line in self.watcher.told
                          if line.get("job") == job])

    def test_slurmctld_may_go_and_come_back(self):
        job = self.submit()
        self.watcher.wait("the start", {"event": "started", "job": job})
        daemon = self.cluster._daemons["slurmctld"]
        daemon.terminate()
        daemon.wait(timeout=PATIENCE_S)
        remark, = self.watcher.wait("the remark that it is away", {})
        self.assertIn("slurmctld does not tell", remark["remark"])
        self.cluster._start_daemon("slurmctld", "slurmctld", "-D")
        back, = self.watcher.wait("the remark that it is back", {})
        self.assertEqual(back, {"remark": "slurmctld answers again"})
        # The job continues; no event occurs until it ends.
        self.cluster.cancel(str(job))
        end, = self.watcher.wait("the end", {"job": job})
        self.assertEqual((end["event"], end["state"]), ("ended", "CANCELLED"))


if __name__ == "__main__":
    cluster_case.main()

"""Mistakes in how jobs are started are named within seconds, with the line that
mends each; clean jobs have none. By default one job of each kind of figures;
all with PENSTOCK_LAUNCH_ALL=1."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import agent_case
import embedded
import launch_cases

WITHIN_S = 30  # of the step's start
FEW = {"srun_without_c", "threads_of_workers", "one_worker", "small_reads",
       "killed_worker", "outsiders", "fed"}
BUSY = """
import os
os.sched_setaffinity(0, {%d})
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100000))
"""


def chosen(cases):
    if os.environ.get("PENSTOCK_LAUNCH_ALL"):
        return cases
    return [case for case in cases if case.name in FEW]


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class Launch(agent_case.AgentCase):
    cluster_options = {
        "agent": True, "cgroup_lines": ("ConstrainRAMSpace=yes",),
        "slurm_lines": ("SelectTypeParameters=CR_Core_Memory",
                        "DefMemPerCPU=4000",
                        "NodeName=DEFAULT RealMemory=8000")}

    @classmethod
    def setUpClass(cls):
        # The accelerators are emulated: a stand-in for NVIDIA's library says
        # that processes compute on the first alone.
        os.environ["LD_LIBRARY_PATH"] = str(
            embedded.build_directory() / "tests" / "fake_nvml")
        super().setUpClass()
        source = pathlib.Path(__file__).resolve().parents[2]
        module = pathlib.Path(cls.cluster.directory, "bin", "python")
        shutil.copytree(source / "libpenstock" / "python", module)
        cls.network = cls.mount_network()

    @classmethod
    def mount_network(cls):
        """A folder of files that waits 2 ms for each request; "": this machine
        has no FUSE."""
        program = embedded.build_directory() / "bin" / "penstock-slow-tier"
        if not program.exists() or not os.path.exists("/dev/fuse"):
            return ""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        files = pathlib.Path(folder.name, "files")
        (files / "train").mkdir(parents=True)
        for i in range(launch_cases.FILES):
            (files / "train" / str(i)).write_bytes(b"x" * 4096)
        with open(files / "large", "wb") as large:
            large.truncate(launch_cases.LARGE_MIB << 20)
        shown = pathlib.Path(folder.name, "network")
        shown.mkdir()
        subprocess.run([program, files, shown], check=True)
        cls.addClassCleanup(subprocess.run, ["fusermount3", "-u", shown],
                            check=True)
        return str(shown)

    def skip_without_network(self, case):
        if "NETWORK" in case.sample and not self.network:
            self.skipTest("SKIPPED: no FUSE")

    def start(self, case):
        home = self.cluster.home()
        script = pathlib.Path(home, f"{case.name}.py")
        script.write_text(case.script(self.network), "utf-8")
        job = self.cluster.sbatch(
            "#!/bin/sh\n" + case.command.format(script=script,
                                                flags=case.flags) + "\n",
            gpus=case.gpus, flags=["--loader=auto", *case.sbatch])
        self.cluster.wait_job(job, "RUNNING")
        return job

    def end(self, job):
        self.cluster.cancel(str(job))
        self.wait("the node to be free", lambda: not self.cluster.squeue())

    def disturb(self):
        for cpu in sorted(os.sched_getaffinity(0)):
            child = subprocess.Popen([sys.executable, "-c", BUSY % cpu])
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)

    def problems(self, job):
        status = self.job_status(job)
        return status["launch_problems"] if status else []

    def test_mistakes(self):
        for case in chosen(launch_cases.MISTAKES):
            with self.subTest(case.name):
                self.skip_without_network(case)
                started = time.monotonic()
                job = self.start(case)
                if case.outsider:
                    self.disturb()
                try:
                    self.wait("a problem", lambda job=job: self.problems(job),
                              WITHIN_S)
                    found = self.problems(job)
                    seconds = time.monotonic() - started
                finally:
                    self.end(job)
                    self.doCleanups()
                print(f"{case.name}: {seconds:.0f} s: {found}", flush=True)
                self.assertEqual([it["fault"] for it in found], [case.fault])
                self.assertEqual(found[0]["lines"],
                                 [line.replace("NODE", self.cluster.node)
                                  .replace("NETWORK", self.network)
                                  for line in case.lines])

    def test_clean_jobs(self):
        for case in chosen(launch_cases.CLEAN):
            with self.subTest(case.name):
                self.skip_without_network(case)
                job = self.start(case)
                try:
                    self.wait("some periods", lambda job=job: (
                        self.job_status(job) or {"quality": {"periods": 0}})
                        ["quality"]["periods"] >= WITHIN_S,
                        2 * WITHIN_S)
                    found = self.problems(job)
                finally:
                    self.end(job)
                self.assertEqual(found, [])


if __name__ == "__main__":
    agent_case.main()

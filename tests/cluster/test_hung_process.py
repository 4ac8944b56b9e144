"""A job holds the lock of its own memory, so that every reader of its command
line hangs, or every move that needs the lock. penstockd goes on, also after a
restart."""

import os
import pathlib
import subprocess
import time
import unittest

import agent_case
import hierarchy
from fuse_device import fuse_device

LOCK_MEMORY = (pathlib.Path(__file__).resolve().parents[1]
               / "hostile" / "lock_memory.py")
NOTE = "did not show its command line within"
ANSWER_S = 1
# A worker that computes while another of its threads has the lock. It allocates
# nothing then, which would wait for the lock.
WORKER = """
import os, sys, threading
sys.path.insert(0, {modules!r})
import lock_memory

def tell():
    os.close(os.open({told!r} + str(os.getppid()), os.O_CREAT | os.O_WRONLY))

address = lock_memory.map_file(600, {device!r}, tell)
threading.Thread(target=lock_memory.read_mapping, args=(address,)).start()
while True:
    pass
"""


class HungProcess(agent_case.AgentCase):
    def device(self):
        return fuse_device(f"{self.cluster.directory}/bin")

    def hang(self):
        """Starts the job; waits until it has the lock. scancel ends it."""
        told = f"{self.cluster.home()}/told"
        script = self.cluster.expose(LOCK_MEMORY)
        device = self.device()
        job = self.cluster.sbatch(
            f"#!/bin/sh\nexec /usr/bin/python3 {script} 600 {device} "
            f"> {told}\n", gpus=0, flags=["--loader=auto"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.wait("the job to hold the lock",
                  lambda: pathlib.Path(told).exists()
                  and "locked" in pathlib.Path(told).read_text("ascii"), 30)
        return job

    def check_answers(self, seconds):
        """Every answer comes in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.monotonic()
            self.cluster.status()
            self.check_time(time.monotonic() - begun, ANSWER_S)
            time.sleep(0.02)

    def test_lending_goes_on(self):
        hung = self.hang()
        self.check_answers(2)
        borrower = self.submit("borrower", 4, gpus=0)
        self.wait_away(borrower)
        self.check_answers(2)
        self.assertEqual(self.cluster.stop_agent(), 0)
        self.cluster.start_agent()
        self.wait_away(borrower)
        self.check_answers(2)
        self.cluster.cancel(borrower, hung)
        self.check_nothing_left()
        (report,) = [path for path in self.reports(hung)
                     if path.endswith(".json")]
        self.assertIn(NOTE, pathlib.Path(report).read_text("utf-8"))

    def start_workers(self):
        """Starts a job of two workers that have the locks of their memories;
        waits until they have them."""
        script = pathlib.Path(self.cluster.home(), "locked_worker.py")
        told = f"{self.cluster.home()}/has_lock."
        modules = pathlib.Path(self.cluster.expose(LOCK_MEMORY)).parent
        script.write_text(WORKER.format(modules=str(modules), told=told,
                                        device=self.device()), "utf-8")
        job = self.cluster.sbatch(
            "#!/bin/sh\n" + f"/usr/bin/python3 -B {script} &\n" * 2
            + "exec sleep 600\n", gpus=0,
            flags=["--loader=auto", "--loader-match=locked_worker.py",
                   f"--loader-model={self.profile('locked', 4)}"])
        self.addCleanup(self.cluster.cancel, str(job))
        self.wait("the workers to hold their locks", lambda: len(list(
            script.parent.glob("has_lock.*"))) == 2, 30)
        return job

    @unittest.skipUnless(hierarchy.LENDS_PROCESSES, "a kernel before 6.2")
    def test_a_worker_that_holds_the_lock_is_moved_like_others(self):
        job = self.start_workers()
        self.wait("a worker to be away", lambda: any(
            map(hierarchy.is_process, self.away_threads(job))), 60)
        subprocess.run(["true"], check=True, timeout=ANSWER_S)
        self.check_answers(2)
        self.assertEqual(self.cluster.stop_agent(), 0)
        self.assertEqual(self.away_threads(job), [])
        self.cluster.start_agent()
        self.cluster.cancel(job)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()

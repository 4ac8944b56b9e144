"""A job holds the lock of its own memory, so that every reader of its command
line hangs. penstockd goes on, also after a restart."""

import os
import pathlib
import stat
import time

import agent_case

LOCK_MEMORY = (pathlib.Path(__file__).resolve().parents[1]
               / "hostile" / "lock_memory.py")
NOTE = "did not show its command line within"
ANSWER_S = 1
FUSE = os.makedev(10, 229)


class HungProcess(agent_case.AgentCase):
    def hang(self):
        """Starts the job; waits until it has the lock. scancel ends it."""
        told = f"{self.cluster.home()}/told"
        script = self.cluster.expose(LOCK_MEMORY)
        # udev gives all users access; there is none here.
        device = f"{self.cluster.directory}/bin/fuse"
        os.mknod(device, stat.S_IFCHR, FUSE)
        os.chmod(device, 0o666)
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


if __name__ == "__main__":
    agent_case.main()

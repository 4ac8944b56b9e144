"""penstockd's measurements while other programs compute on a job's CPU."""

import json
import subprocess
import sys

import agent_case

SLICES = 2
TRUE_CEILING = SLICES / agent_case.CPU_S_PER_SAMPLE
MOST_ERROR = 0.03
# Uses half of a CPU, in pieces that make timed waits end late.
HALF_BUSY = """
import os, time
os.sched_setaffinity(0, {%d})
parent = os.getppid()
while os.getppid() == parent:
    end = time.thread_time() + 0.01
    while time.thread_time() < end:
        pass
    time.sleep(0.01)
"""


class Disturbed(agent_case.AgentCase):
    def disturb(self, cpu):
        """A process outside of Slurm uses half of the CPU until the test
        ends."""
        child = subprocess.Popen([sys.executable, "-c", HALF_BUSY % cpu])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)

    def corrected(self, job):
        """The corrected ceiling after 10 s of measurement; None before."""
        status = self.job_status(job)
        if not status or status["quality"]["periods"] < 10:
            return None
        return status["ceiling"]["corrected"]

    def test_a_correction_does_not_count_others_cpu_time(self):
        job = self.submit("disturbed", SLICES)
        self.disturb(int(self.held_by(job)))
        self.wait("a correction", lambda: self.corrected(job), 60)
        found = self.corrected(job)["value"]
        print(json.dumps({"ceiling": TRUE_CEILING, "corrected": found}),
              flush=True)
        self.assertLess(abs(found / TRUE_CEILING - 1), MOST_ERROR)


if __name__ == "__main__":
    agent_case.main()

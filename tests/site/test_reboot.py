"""A node that is reset during a job: its state afterwards. tests/vm/run runs
Before, resets the machine, and runs After."""

import os
import pathlib
import time

import site_case
from site_case import run

NUMBER = pathlib.Path("/root/job-before-reboot")
# If a controller is reset with its node, it treats a job that the node lacks as
# starting (BatchStartTimeout and 10 s after it read its state), and asks again
# after half an hour. slurmd reports its jobs sooner.
REGISTER_EVERY_S = 30


class Before(site_case.SiteCase):
    def test_a_job_is_lent_cpus(self):
        job = self.submit("interrupted", 4)
        self.wait_away()
        # A reset loses slurmctld's unwritten state; a regular exit writes it.
        run(["systemctl", "restart", "slurmctld"])
        NUMBER.write_text(str(job), "ascii")
        os.sync()
        self._cleanups.clear()  # it is to run on


class After(site_case.SiteCase):
    def setUp(self):
        """A job may be running again."""

    def wait_noticed(self, job):
        """Waits until Slurm knows that the job was lost."""
        registered = -REGISTER_EVERY_S

        def noticed():
            nonlocal registered
            if time.monotonic() - registered >= REGISTER_EVERY_S:
                run(["systemctl", "restart", "slurmd"])
                registered = time.monotonic()
            return self.job(job).get("Restarts") == "1"

        site_case.wait("Slurm to notice", noticed, 120)

    def test_the_job_starts_anew_and_is_lent_cpus(self):
        job = NUMBER.read_text("ascii")
        self.addCleanup(run, ["scancel", job], check=False)
        self.wait_noticed(job)
        self.wait_job(job, "RUNNING", 240)  # it lets two minutes pass
        self.wait_away()
        said = run(["journalctl", "-q", "-b", "-o", "cat", "-u", "penstockd",
                    "-t", "penstockd"]).stdout
        self.assertEqual(said.count("ready on"), 1, said)
        self.assertNotIn("rror", said)
        run(["scancel", job])
        self.check_nothing_left()


if __name__ == "__main__":
    site_case.main()

"""A node that is reset in the middle of a job: what it finds afterwards.
tests/vm/run runs Before, resets the machine, and runs After."""

import pathlib
import time

import site_case
from site_case import run

NUMBER = pathlib.Path("/root/job-before-reboot")
# Slurm (24.11, _purge_missing_jobs) takes a job that began less than this before
# its node came up for one that is about to begin.
YOUNG_S = site_case.MESSAGE_TIMEOUT_S + 5


class Before(site_case.SiteCase):
    def test_a_job_is_lent_cpus(self):
        job = self.submit("interrupted", 4)
        began = time.monotonic()
        self.wait_away()
        site_case.wait("it to be old enough",
                       lambda: time.monotonic() > began + YOUNG_S, YOUNG_S)
        NUMBER.write_text(str(job), "ascii")
        self._cleanups.clear()  # it is to run on


class After(site_case.SiteCase):
    def setUp(self):
        """Whatever was running may be back."""

    def test_the_job_starts_anew_and_is_lent_cpus(self):
        job = NUMBER.read_text("ascii")
        self.addCleanup(run, ["scancel", job], check=False)
        site_case.wait("Slurm to notice", lambda: self.job(job).get(
            "Restarts") == "1", 120)
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

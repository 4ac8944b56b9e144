"""A node that is reset in the middle of a job: what it finds afterwards.
tests/vm/run runs Before, resets the machine, and runs After."""

import os
import pathlib
import time

import site_case
from site_case import run

NUMBER = pathlib.Path("/root/job-before-reboot")
STATE = pathlib.Path("/var/lib/slurm/slurmctld/job_state")
# BatchStartTimeout and 10 s: a slurmctld that is younger takes a job that its
# node does not have for one that is about to begin, and asks again in half an
# hour. Here controller and node were reset together.
PATIENT_S = 20


def age_s(unit):
    pid = run(["systemctl", "show", "--property=MainPID", "--value",
               unit]).stdout.strip()
    return int(run(["ps", "-o", "etimes=", "-p", pid]).stdout)


class Before(site_case.SiteCase):
    def test_a_job_is_lent_cpus(self):
        job = self.submit("interrupted", 4)
        self.wait_away()
        # A reset loses what slurmctld has not written of it yet.
        began = time.time()
        run(["scontrol", "update", f"JobId={job}", "Comment=started"])
        site_case.wait("slurmctld to save it",
                       lambda: STATE.stat().st_mtime > began)
        NUMBER.write_text(str(job), "ascii")
        os.sync()
        self._cleanups.clear()  # it is to run on


class After(site_case.SiteCase):
    def setUp(self):
        """Whatever was running may be back."""

    def test_the_job_starts_anew_and_is_lent_cpus(self):
        job = NUMBER.read_text("ascii")
        self.addCleanup(run, ["scancel", job], check=False)
        site_case.wait("slurmctld to be old enough",
                       lambda: age_s("slurmctld") > PATIENT_S + 1)
        run(["systemctl", "restart", "slurmd"])  # which says what it runs
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

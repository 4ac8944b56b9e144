"""A node that is reset in the middle of a job: what it finds afterwards.
tests/vm/run runs Before, resets the machine, and runs After."""

import pathlib

import site_case
from site_case import journal, run

NUMBER = pathlib.Path("/root/job-before-reboot")


class Before(site_case.SiteCase):
    def test_a_job_is_lent_cpus(self):
        job = self.submit("interrupted", 4)
        self.wait_away()
        NUMBER.write_text(str(job), "ascii")
        self._cleanups.clear()  # it is to run on


class After(site_case.SiteCase):
    def test_the_site_is_as_it_was_and_the_job_not_lost(self):
        self.assertEqual(run(["systemctl", "is-active", "penstockd"])
                         .stdout.strip(), "active")
        for line in journal(lines=200).splitlines():
            self.assertNotIn("error", line.lower())
        run(["scancel", NUMBER.read_text("ascii")], check=False)
        self.check_nothing_left()
        self.submit("afterwards", 4)
        self.wait_away()


if __name__ == "__main__":
    site_case.main()

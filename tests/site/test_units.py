"""What systemd does with our units: reload, restart after a kill or a hang,
and the controller with the few rights that it has."""

import os
import pathlib
import signal

import site_case
from site_case import restart, run, wait

CONF = "/etc/slurm/penstock.conf"


class Units(site_case.SiteCase):
    def lend(self, name):
        job = self.submit(name, 4)
        self.wait_away()
        return job

    def check_lent_again(self, job, name, pid):
        """By the next penstockd, to a job that ran on meanwhile."""
        site_case.wait_another("penstockd", pid)
        self.wait_away()
        self.assertGreater(self.rate(name, 2), 0)
        self.assertEqual(self.job(job)["JobState"], "RUNNING")
        run(["scancel", job])
        self.check_nothing_left()

    def test_a_reload_takes_what_is_good_and_tells_what_is_not(self):
        pid = site_case.pid_of("penstockd")
        job = self.lend("reloaded")
        self.addCleanup(run, ["systemctl", "reload", "penstockd"])
        old = pathlib.Path(CONF).read_text("utf-8")
        self.change(CONF, old, old + "SamplePeriod=soon\n")
        run(["systemctl", "reload", "penstockd"])
        wait("the error", lambda: self.said(
            f"{CONF}:{len(old.splitlines()) + 1}: "))
        self.assertIn("soon", run(["systemctl", "status", "--no-pager",
                                   "penstockd"]).stdout)
        site_case.write(CONF, old + "SamplePeriod=500\n")
        run(["systemctl", "reload", "penstockd"])
        wait("the new ones", lambda: self.said("configuration reloaded"))
        self.assertEqual(site_case.pid_of("penstockd"), pid)
        self.wait_away()
        run(["scancel", job])
        self.check_nothing_left()

    # Its guardian must outlive it: systemd's default is to kill both.
    def test_killed_under_a_loan_it_is_tidied_up_after_and_started_again(self):
        job = self.lend("killed")
        pid = site_case.pid_of("penstockd")
        os.kill(pid, signal.SIGKILL)
        wait("the guardian's line",
             lambda: self.said("penstockd died or hangs"))
        self.check_lent_again(job, "killed", pid)

    def test_one_that_hangs_is_killed_by_the_watchdog(self):
        # Of the unit a minute.
        self.drop_in(f"[Service]\nWatchdogSec={5 * site_case.PATIENCE}\n")
        job = self.lend("hung")
        pid = site_case.pid_of("penstockd")
        os.kill(pid, signal.SIGSTOP)
        self.check_lent_again(job, "hung", pid)
        self.assertIn("Watchdog timeout", run(
            ["journalctl", "-q", "--no-pager", "-o", "cat", "-u", "penstockd",
             "--after-cursor", self.seen]).stdout)

    def test_the_controller_under_its_unit(self):
        done = run(["systemd-analyze", "security", "--no-pager",
                    "--threshold=50", "penstockctld"], check=False)
        print(done.stdout.strip().splitlines()[-1], flush=True)
        self.assertEqual(done.returncode, 0, done.stdout)

        self.addCleanup(restart, "penstockd")
        self.change(CONF, "Pool=", "Controller=localhost\nPool=")
        run(["systemctl", "start", "penstockctld"], 60)
        self.addCleanup(run, ["systemctl", "stop", "penstockctld"])
        restart("penstockd")
        job = self.lend("controlled")
        wait("the controller to know the node", site_case.is_controlled)
        pid = site_case.pid_of("penstockctld")
        os.kill(pid, signal.SIGKILL)
        site_case.wait_another("penstockctld", pid)
        wait("the next one to know the node", site_case.is_controlled)
        self.assertEqual(self.job(job)["JobState"], "RUNNING")
        run(["scancel", job])
        self.check_nothing_left()


if __name__ == "__main__":
    site_case.main()

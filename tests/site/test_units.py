"""systemd with our units: reload, restart after a kill or a hang, and the
controller without root's rights."""

import json
import os
import pathlib
import signal
import stat

import site_case
from site_case import restart, run, wait

CONF = "/etc/slurm/penstock.conf"
SLURM_CONF = "/etc/slurm/slurm.conf"
STATE = "/var/lib/penstock"
RUN = "/run/penstockctld"
CONNECT = ("import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)"
           ".connect('/run/penstock-broker.sock')")
SUBMIT = "SubmitNodeCores=8\nSubmitNodeBandwidth=100M\nSubmitModel=res50\n"


def owned(directory):
    """The directory and its files."""
    return [pathlib.Path(directory, name)
            for name in ["", *os.listdir(directory)]]


def owners(directory):
    return {path.owner() for path in owned(directory)}


def unit_property(unit, name):
    return run(["systemctl", "show", "--value", "-p", name, unit]
               ).stdout.strip()


class Units(site_case.SiteCase):
    def lend(self, name):
        job = self.submit(name, 4)
        self.wait_away()
        return job

    def check_lent_again(self, job, name, pid):
        """The next penstockd lends to a job that continued meanwhile."""
        site_case.wait_another("penstockd", pid)
        self.wait_away()
        self.assertGreater(self.rate(name, 2), 0)
        self.assertEqual(self.job(job)["JobState"], "RUNNING")
        run(["scancel", job])
        self.check_nothing_left()

    def test_systemd_knows_when_they_are_ready_and_alive(self):
        for unit in ("penstockd", "penstockctld"):
            lines = run(["systemctl", "cat", unit]).stdout.splitlines()
            self.assertIn("Type=notify", lines)
            self.assertIn("WatchdogSec=60", lines)
            # Never given up, and not started again at once.
            self.assertEqual(unit_property(unit, "StartLimitIntervalUSec"),
                             "0")
            self.assertEqual(unit_property(unit, "RestartUSec"), "5s")
            self.check_confined(unit)
            self.assertEqual(unit_property(unit, "CapabilityBoundingSet"), "")

    def check_confined(self, unit):
        for limit in ("TasksMax", "MemoryMax"):
            self.assertNotIn(unit_property(unit, limit), ("", "infinity"))
        self.assertEqual(unit_property(unit, "NoNewPrivileges"), "yes")
        self.assertEqual(unit_property(unit, "ProtectSystem"), "strict")

    def test_only_the_brokers_are_root_each_in_a_unit_of_its_own(self):
        pid = site_case.pid_of("penstockd")
        self.assertEqual(pathlib.Path(f"/proc/{pid}").owner(), "penstock")
        brokers = run(["systemctl", "list-units", "--plain", "--no-legend",
                       "--state=running", "penstock-broker@*"]).stdout
        self.assertEqual(len(brokers.splitlines()), 2, brokers)
        for line in brokers.splitlines():
            unit = line.split()[0]
            self.check_confined(unit)
            pid = site_case.pid_of(unit)
            self.assertEqual(pathlib.Path(f"/proc/{pid}").owner(), "root")
            self.assertEqual(
                unit_property(unit, "ReadWritePaths").split(),
                ["/sys/fs/cgroup", "-/run/penstock",
                 "-/var/log/penstock/reports", "/dev/shm",
                 "-/var/lib/prometheus/node-exporter"])
        done = run(["runuser", "-u", site_case.USER, "--", "python3", "-c",
                    CONNECT], check=False)
        self.assertIn("PermissionError", done.stdout)

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

    # The guardian must outlive penstockd; systemd's default kills both.
    def test_killed_under_a_loan_it_is_tidied_up_after_and_started_again(self):
        job = self.lend("killed")
        pid = site_case.pid_of("penstockd")
        os.kill(pid, signal.SIGKILL)
        wait("the guardian's line",
             lambda: self.said("penstockd died or hangs"))
        self.check_lent_again(job, "killed", pid)

    def test_one_that_hangs_is_killed_by_the_watchdog(self):
        # The unit's limit is a minute.
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
                    "--threshold=25", "penstockctld"], check=False)
        print(done.stdout.strip().splitlines()[-1], flush=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(unit_property("penstockctld",
                                       "CapabilityBoundingSet"), "")

        self.addCleanup(restart, "penstockd")
        # As an earlier release left it.
        os.makedirs(STATE, exist_ok=True)
        pathlib.Path(STATE, "kept").touch()
        for path in owned(STATE):
            os.chown(path, 0, 0)
        self.start_controller()
        self.assertEqual(owners(STATE), {"penstock"})
        pathlib.Path(STATE, "kept").unlink()
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

    def start_controller(self, lines=""):
        """Starts the controller; slurmctld loads the plugin if the lines
        configure it."""
        self.change(CONF, "Pool=", f"Controller=localhost\n{lines}Pool=")
        run(["systemctl", "start", "penstockctld"], 60)
        self.addCleanup(run, ["systemctl", "stop", "penstockctld"])

    def check_submits(self, name):
        """A job gets its loader's GRES, and is in the history."""
        job = self.submit(name, 4, "--loader-bw=10M", seconds=15)
        shown = run(["scontrol", "-o", "show", "job", job]).stdout
        self.assertRegex(shown, r"gres[:/]loader_cpu:\d")
        self.assertRegex(shown, r"gres[:/]loader_bw:10\b")
        self.wait_job(job, "COMPLETED", 120)
        wait("the run's record", lambda: self.has_ended(job))

    def has_ended(self, job):
        done = run(["penstock", "history", job, "--json"], check=False)
        rows = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        return bool(rows and rows[0]["end_unix_s"])

    def test_slurmctld_submits_with_the_controller_under_its_unit(self):
        self.addCleanup(restart, "slurmctld", "slurmd", "penstockd")
        for old, new in (
                ("GresTypes=gpu", "GresTypes=gpu,loader_cpu,loader_bw\n"
                 "JobSubmitPlugins=penstock"),
                ("Gres=gpu:2", "Gres=gpu:2,loader_cpu:8,loader_bw:100")):
            self.change(SLURM_CONF, old, new)
        self.start_controller(SUBMIT)
        restart("slurmctld", "slurmd", "penstockd")
        self.check_submits("submitted")
        # SlurmUser is neither root nor the controller's user.
        self.assertEqual(owners(RUN), {"penstock"})
        self.assertEqual(stat.S_IMODE(os.stat(f"{RUN}/submit.sock").st_mode),
                         0o620)
        self.drop_in(f"[Service]\nWatchdogSec={5 * site_case.PATIENCE}\n",
                     "penstockctld")
        pid = site_case.pid_of("penstockctld")
        os.kill(pid, signal.SIGSTOP)
        site_case.wait_another("penstockctld", pid)
        self.check_submits("submitted_again")
        self.assertEqual(self.said("submissions are not heard",
                                   "penstockctld"), [])


if __name__ == "__main__":
    site_case.main()

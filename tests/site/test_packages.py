"""The packages on a site with jobs: upgrades during jobs, removal, and no
leftovers. Runs last, because it removes Penstock."""

import glob
import os
import pathlib
import re
import subprocess
import time

import site_case
from site_case import run, wait


UNITS = ("penstockd", "penstockctld")


class Packages(site_case.SiteCase):
    @classmethod
    def setUpClass(cls):
        """Also configures a controller on the machine."""
        super().setUpClass()
        conf = pathlib.Path("/etc/slurm/penstock.conf")
        site_case.write(conf, "Controller=localhost\n"
                        + conf.read_text("utf-8"))
        run(["systemctl", "enable", "--now", "penstockctld"], 60)
        site_case.restart("penstockd")

    def packages(self):
        text = run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n",
                    "*penstock*"], check=False).stdout
        return [line.split()[0] for line in text.splitlines()
                if re.fullmatch(r"\S+ (installed|config-files)", line)]

    def newer_packages(self):
        """The same packages with a later version, as files."""
        made = []
        os.makedirs("/root/newer")
        for deb in glob.glob("/root/debs/*.deb"):
            tree = pathlib.Path("/root/newer", pathlib.Path(deb).stem)
            run(["dpkg-deb", "-R", deb, tree])
            control = tree / "DEBIAN/control"
            text = control.read_text("utf-8")
            version = re.search(r"(?m)^Version: (\S+)$", text).group(1)
            # Also in dependencies between the packages.
            control.write_text(text.replace(version, version + "+1"), "utf-8")
            run(["dpkg-deb", "-Znone", "-b", tree, f"{tree}.deb"])
            made.append(f"{tree}.deb")
        return made

    def gap_s(self, argv):
        """Runs a command; returns the longest time without away threads
        meanwhile."""
        longest = 0
        since = None
        command = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 600 * site_case.PATIENCE
        while command.poll() is None or since is not None:
            now = time.monotonic()
            self.assertLess(now, deadline)
            since = None if self.away_threads() else since or now
            longest = max(longest, now - (since or now))
            time.sleep(0.05)
        self.assertEqual(command.returncode, 0)
        return longest

    def test_0_apt_keeps_plugins_with_the_slurm_they_were_built_for(self):
        major, minor = site_case.slurm_release()
        line = rf"slurm-wlm-basic-plugins \(>= {major}\.{minor:02}"
        for package in ("penstock-client", "penstock-ctld"):
            needs = run(["dpkg-query", "-W", "-f", "${Depends}", package]).stdout
            self.assertRegex(needs, line)
            self.assertRegex(needs, r"slurm-wlm-basic-plugins \(<< ")
        self.assertRegex(run(["dpkg-query", "-W", "-f", "${Depends}",
                              "penstock-node"]).stdout,
                         r"\bpenstock-client \(= ")

    def test_1_after_an_upgrade_jobs_have_what_they_had(self):
        newer = self.newer_packages()
        job = self.submit("upgraded", 4)
        self.wait_away()
        cpus = pathlib.Path(self.only_job_dir(), "cpuset.cpus")
        held = site_case.cpus_in(self.held_by(job))
        wait("the controller to know the node", site_case.is_controlled)
        before = {unit: site_case.pid_of(unit) for unit in UNITS}
        gap_s = self.gap_s(["apt-get", "install", "-y", *newer])
        print(f"without a loan for {gap_s:.1f} s", flush=True)
        self.assertLess(gap_s, 5 * site_case.PATIENCE)
        for unit in UNITS:
            site_case.wait_another(unit, before[unit])
        wait("the controller to know the node", site_case.is_controlled)
        self.assertIn("+1", run(["dpkg-query", "-W", "-f", "${Version}",
                                 "penstock-node"]).stdout)
        # The number depends on the costs measured meanwhile.
        wait("the loan after the upgrade", lambda: self.away_threads() and
             site_case.cpus_in(cpus.read_text("ascii")) > held)
        self.assertEqual(self.job(job)["JobState"], "RUNNING")
        run(["scancel", job])
        self.check_nothing_left()

    def test_2_removed_under_a_job_slurm_has_its_own_again(self):
        job = self.submit("removed", 4)
        self.wait_away()
        held = self.held_by(job)
        limits = pathlib.Path(self.only_job_dir(), "io.max")
        wait("a limit", limits.read_text)
        pathlib.Path("/run/penstock/off").touch()  # to be removed, too
        run(["apt-get", "remove", "-y", *self.packages()], 600)
        self.check_as_slurm_made_it(job, held)
        for unit in UNITS:
            self.assertEqual(site_case.pid_of(unit), 0)
        run(["scancel", job])
        self.check_nothing_left()

    # Without the plugin, its line in plugstack.conf is optional.
    def test_3_after_a_purge_nothing_is_left(self):
        self.assertTrue(os.path.exists("/var/lib/penstock"))
        run(["apt-get", "purge", "-y", "?name(penstock)"], 600)  # docs/admin.md
        self.assertEqual(self.packages(), [])
        left = [path for top in ("/etc", "/usr", "/var/lib", "/var/log",
                                 "/run", "/sys/fs/cgroup")
                for path, folders, files in os.walk(top)
                for path in [f"{path}/{name}" for name in [*folders, *files]
                             if "penstock" in name]]
        # The administrator's own files, and those of this test.
        left = [path for path in left if not path.startswith((
            "/etc/slurm/", "/usr/local/lib/penstock-vm",
            "/etc/penstock-dependencies", "/run/udev/"))
                and "penstock-shell" not in path]
        self.assertEqual(left, [])
        done = run(["srun", "-n1", "echo", "ran"], user=site_case.USER)
        self.assertIn("ran", done.stdout)


if __name__ == "__main__":
    site_case.main()

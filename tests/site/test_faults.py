"""Conditions that prevent penstockd's work on a node: it logs one line in
the journal, and jobs continue as without it."""

import pathlib

import site_case
from site_case import restart, run, wait

SYSTEM = "/sys/fs/cgroup/system.slice/cgroup.subtree_control"
# Like a container runtime that runs as root: it makes a group inside its task's
# group, and a namespace with that group as root. Slurm kills no process there.
CONTAINER = """#!/bin/sh
group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/container
mkdir "$group"
(
echo 0 > "$group/cgroup.procs"
exec unshare --cgroup {command}
) &
trap 'echo 1 > "$group/cgroup.kill"; wait; rmdir "$group"; exit' TERM
wait
"""


class Faults(site_case.SiteCase):
    def check_told(self, job, name, *words):
        """One log line has the words. The job makes progress, in no group of
        ours, and ends when Slurm ends it."""
        wait(f"a line with {words[0]}", lambda: self.said(words[0]))
        self.assertGreater(self.rate(name, 5), 0)
        self.assertEqual(self.job(job)["JobState"], "RUNNING")
        (line,) = self.said(words[0])
        print(line, flush=True)
        for word in words:
            self.assertIn(word, line)
        self.assertEqual(self.our_groups(), [])
        run(["scancel", "--full", job])
        self.check_nothing_left()
        self.assertEqual(self.said("rror"), [])

    def check_lends_again(self):
        """After the repair, penstockd lends again without a second restart."""
        self.doCleanups()
        job = self.submit("afterwards", 4)
        self.wait_away()
        run(["scancel", job])
        self.check_nothing_left()

    def test_control_groups_that_cannot_be_written(self):
        self.drop_in("[Service]\nReadWritePaths=\n"
                     "ReadOnlyPaths=/sys/fs/cgroup\n", "penstock-broker@",
                     "penstockd")
        job = self.submit("read_only", 4)
        self.check_told(job, "read_only", "read-write", "Read-only file system")
        self.check_lends_again()

    def test_io_that_does_not_reach_jobs(self):
        run(["systemctl", "stop", "penstockd"])
        self.addCleanup(restart, "penstockd")
        site_case.write_control(SYSTEM, "-io")
        self.addCleanup(site_case.write_control, SYSTEM, "+io")
        run(["systemctl", "start", "penstockd"])
        job = self.submit("no_io", 4)
        self.wait_away()  # CPUs are lent anyway
        wait("the line", lambda: self.said("controller io"))
        (line,) = self.said("controller io")
        print(line, flush=True)
        self.assertIn("EnableExtraControllers=io", line)
        self.assertIn("IOAccounting=yes", line)
        self.check_io_comes_with_accounting(job)

    def check_io_comes_with_accounting(self, job):
        """The remedy in the log line takes effect before the job ends."""
        path = pathlib.Path("/run/systemd/system/slurmd.service.d/test.conf")
        site_case.write(path, "[Service]\nIOAccounting=yes\n")
        self.addCleanup(run, ["systemctl", "daemon-reload"])
        self.addCleanup(path.unlink)
        run(["systemctl", "daemon-reload"])
        run(["systemctl", "restart", "slurmd"], 300)
        job_max = pathlib.Path(self.only_job_dir(), "io.max")
        run(["systemctl", "reload", "penstockd"])  # or at the next job's start
        wait("a limit", lambda: job_max.exists() and job_max.read_text())
        run(["scancel", job])
        self.check_nothing_left()

    def test_io_that_slurm_enables(self):
        if site_case.slurm_release() < (25, 5):
            self.skipTest("Slurm's own lines for io are those of 25.05")
        run(["systemctl", "stop", "penstockd"])
        self.addCleanup(restart, "penstockd")
        self.addCleanup(self.new_scope)
        self.change("/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v2",
                    "CgroupPlugin=cgroup/v2\nEnableControllers=yes\n"
                    "EnableExtraControllers=io")
        self.new_scope()
        controllers = run(["srun", "-n1", "sh", "-c", "cat /sys/fs/cgroup$("
                           "cut -d: -f3 /proc/self/cgroup)/cgroup.controllers"],
                          user=site_case.USER).stdout
        self.assertIn(" io ", controllers)
        run(["systemctl", "start", "penstockd"])
        job = self.submit("slurm_io", 4)
        self.wait_away()
        group = pathlib.Path(self.only_job_dir())
        wait("a limit", (group / "io.max").read_text)
        run(["systemctl", "stop", "penstockd"])
        self.check_as_slurm_made_it(job, self.held_by(job))
        self.assertTrue((group / "io.max").exists())
        self.assertEqual(self.said("not all"), [])
        run(["scancel", job])
        self.check_nothing_left()
        self.check_lends_again()

    def new_scope(self):
        """A new scope of Slurm, with its slice's present controllers."""
        run(["systemctl", "daemon-reload"])
        run(["systemctl", "stop", "slurmd", pathlib.Path(self.scope()).name])
        run(["systemctl", "start", "slurmd"])
        site_case.wait_idle()

    def check_not_delegated(self, controller):
        path = pathlib.Path("/run/systemd/system/system.slice.d/test.conf")
        site_case.write(path, f"[Slice]\nDisableControllers={controller}\n")
        self.addCleanup(self.new_scope)
        self.addCleanup(path.unlink)
        self.new_scope()
        doctor = run(["penstock", "doctor"], check=False)
        self.assertEqual(doctor.returncode, 1, doctor.stdout)
        self.assertIn(f"the controller {controller} does not reach",
                      doctor.stdout)
        job = self.submit(f"no_{controller}", 4)
        self.check_told(job, f"no_{controller}",
                        f"controller {controller} does not reach Slurm's tasks")
        self.check_lends_again()

    def test_cpuset_that_is_not_delegated(self):
        self.check_not_delegated("cpuset")

    # With accounting by control groups slurmd would not start.
    def test_cpu_that_is_not_delegated(self):
        self.addCleanup(self.new_scope)
        self.addCleanup(run, ["systemctl", "restart", "slurmctld"], 300)
        self.change("/etc/slurm/slurm.conf", "jobacct_gather/cgroup",
                    "jobacct_gather/linux")
        self.addCleanup(run, ["systemctl", "restart", "slurmctld"], 300)
        run(["systemctl", "restart", "slurmctld"], 300)
        self.check_not_delegated("cpu")

    def test_cores_that_slurm_does_not_constrain(self):
        self.addCleanup(restart, "slurmctld", "slurmd")
        self.change("/etc/slurm/cgroup.conf", "ConstrainCores=yes",
                    "ConstrainCores=no")
        restart("slurmctld", "slurmd")
        job = self.submit("no_cores", 4)
        self.check_told(job, "no_cores", "ConstrainCores=yes")
        self.check_lends_again()

    def test_slurm_without_control_groups(self):
        self.addCleanup(restart, "slurmctld", "slurmd")
        for old, new in (
                ("ProctrackType=proctrack/cgroup",
                 "ProctrackType=proctrack/linuxproc"),
                ("TaskPlugin=task/cgroup,task/affinity",
                 "TaskPlugin=task/affinity"),
                ("JobAcctGatherType=jobacct_gather/cgroup",
                 "JobAcctGatherType=jobacct_gather/linux")):
            self.change("/etc/slurm/slurm.conf", old, new)
        self.change("/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v2",
                    "CgroupPlugin=disabled")
        restart("slurmctld", "slurmd")
        job = self.submit("no_groups", 4)
        self.check_told(job, "no_groups", "proctrack/cgroup")
        self.check_lends_again()

    def test_a_container_with_a_group_of_its_own(self):
        path = "/root/container.sh"
        site_case.write(path, CONTAINER.format(
            command=" ".join(self.trainer("contained", 4))), 0o755)
        job = self.sbatch(f"exec {path}", self.profile("contained", 4),
                          user="root")
        self.wait_job(job, "RUNNING")
        self.check_told(job, "contained", "/container, not that of a Slurm task")
        self.check_lends_again()


if __name__ == "__main__":
    site_case.main()

"""A site on this machine, which is a guest of tests/vm/run: Slurm, slurmdbd
with MariaDB, and Penstock from its packages, all as systemd units.

The first test sets it up; later tests use it."""

import glob
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

import hierarchy  # noqa: E402

PATIENCE = int(os.environ.get("PENSTOCK_EMULATED", "1"))
BUILD = pathlib.Path(os.environ.get("PENSTOCK_BUILD_DIR", "build/release"))
USER = "alice"
DATA = "/data/jpeg"
DEVICE = "/dev/vdb"
SAMPLE_CPU_S = 0.02  # as in the profiles; penstockd corrects it
HAS_SMT = pathlib.Path("/sys/devices/system/cpu/smt/active").read_text(
    "ascii").strip() == "1"
ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED",
         "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"}

SLURM_CONF = """\
ClusterName=site
SlurmctldHost=vm
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmdDebug=debug
PlugStackConfig=/etc/slurm/plugstack.conf
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency=5
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
ReturnToService=2
MessageTimeout=100
SlurmdTimeout=1200
DefMemPerCPU=300
KillWait=5
GresTypes=gpu
NodeName=vm Boards=1 SocketsPerBoard=2 CoresPerSocket=2 ThreadsPerCore={threads} \
RealMemory=2000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=vm Default=YES MaxTime=INFINITE
"""

SLURMDBD_CONF = """\
AuthType=auth/munge
DbdHost=localhost
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
StorageType=accounting_storage/mysql
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
"""

CGROUP_CONF = """\
CgroupPlugin=cgroup/v2
ConstrainCores=yes
ConstrainRAMSpace=yes
"""

PLUGIN = "/usr/lib/x86_64-linux-gnu/slurm-wlm/spank_penstock.so"
# Files that stand for GPUs.
GPUS = ["/var/lib/slurm/gpu0", "/var/lib/slurm/gpu1"]
GRES_CONF = "Name=gpu File=/var/lib/slurm/gpu[0-1]\n"

PENSTOCK_CONF = """\
Pool=data Path=/data Bandwidth=1M
"""


def run(argv, timeout=120, user=None, check=True):
    """Runs a command; its CompletedProcess, with output and errors in one
    text."""
    if user is not None:
        argv = ["runuser", "-u", user, "--", *argv]
    done = subprocess.run(
        [str(word) for word in argv], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
        timeout=timeout * PATIENCE, check=False,
        cwd=f"/home/{USER}" if user else "/")
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, argv))}: status "
                             f"{done.returncode}\n{done.stdout}")
    return done


def wait(what, condition, timeout=30):
    """Waits until the condition is true; returns its value. The timeout is
    scaled for this machine."""
    deadline = time.monotonic() + timeout * PATIENCE
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout * PATIENCE} s for {what}"
                                 + journal() + status())
        time.sleep(0.1)


def journal(unit="penstockd", lines=30):
    """The last log lines of a unit."""
    return f"\n--- {unit}\n" + run(
        ["journalctl", "--no-pager", "-q", "-o", "cat", "-n", lines, "-u",
         unit], check=False).stdout


def status():
    """penstockd's status of the node and its jobs."""
    return "\n--- penstock top\n" + run(["penstock", "top", "--json"],
                                           check=False).stdout


def cpus_in(text):
    """Parses a list such as "0-1,3" into a set of numbers."""
    cpus = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def slurm_release():
    """The release of the installed Slurm, such as (24, 11)."""
    text = run(["slurmd", "-V"]).stdout
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups()))


# -- setting up ---------------------------------------------------------------


def write(path, text, mode=0o644, owner=None):
    file = pathlib.Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    file.chmod(mode)
    if owner:
        run(["chown", f"{owner}:", path])


def write_control(path, text):
    """Writes to a file of the kernel."""
    pathlib.Path(path).write_text(text, "ascii")


def make_data():
    """Makes a file system with pictures on the second disk."""
    run(["mke2fs", "-q", "-t", "ext4", DEVICE])
    os.makedirs("/data", exist_ok=True)
    run(["mount", DEVICE, "/data"])
    write("/etc/fstab", f"{DEVICE} /data ext4 defaults 0 0\n")
    run([BUILD / "bin/penstock-demo-data", "--out", DATA, "--format", "jpeg",
         "--count", "64"], 300)


def make_database():
    write("/etc/mysql/conf.d/small.cnf",
          "[mysqld]\ninnodb_buffer_pool_size=32M\nperformance_schema=OFF\n")
    run(["systemctl", "enable", "--now", "munge", "mariadb"], 300)
    run(["mariadb", "-e", "create database slurm_acct_db; "
         "create user slurm@localhost identified by 'slurm'; "
         "grant all on slurm_acct_db.* to slurm@localhost"])


def write_files():
    for name in ("/var/lib/slurm/slurmctld", "/var/lib/slurm/slurmd",
                 "/var/log/slurm"):
        os.makedirs(name, exist_ok=True)
        run(["chown", "slurm:", name])
    for number, name in enumerate(GPUS):
        os.mknod(name, 0o666 | stat.S_IFCHR, os.makedev(240, number))
    write("/etc/slurm/gres.conf", GRES_CONF)
    write("/etc/slurm/slurm.conf",
          SLURM_CONF.format(threads=2 if HAS_SMT else 1))
    write("/etc/slurm/slurmdbd.conf", SLURMDBD_CONF, 0o600, "slurm")
    # On an emulated machine systemd takes longer than slurmd's default of one
    # second.
    write("/etc/slurm/cgroup.conf", CGROUP_CONF + (
        "SystemdTimeout=10000\n" if slurm_release() >= (24, 11) else ""))
    write("/etc/slurm/plugstack.conf.d/penstock.conf",
          f"optional {PLUGIN}\n")
    write("/etc/slurm/penstock.conf",
          PENSTOCK_CONF + f"MoveProcesses={hierarchy.MOVES}\n")


def set_up():
    """Installs, enables and starts everything; waits until the node is idle."""
    if pathlib.Path("/etc/slurm/slurmdbd.conf").exists():
        wait("the node to be up", lambda: run(
            ["sinfo", "-h", "-o", "%t"], check=False).stdout.strip() in
            ("idle", "mix"), 60)
        return
    run(["useradd", "--create-home", USER])
    make_data()
    write_files()
    make_database()
    run(["systemctl", "daemon-reload"])
    run(["systemctl", "enable", "--now", "slurmdbd"], 300)
    wait("slurmdbd to answer", lambda: run(
        ["sacctmgr", "-n", "show", "cluster"], check=False).returncode == 0,
        120)
    run(["systemctl", "enable", "--now", "slurmctld", "slurmd", "penstockd"],
        300)
    wait_idle(180)


def wait_idle(timeout=60):
    wait("the node to be idle", lambda: run(
        ["sinfo", "-h", "-o", "%t"], check=False).stdout.strip() == "idle",
        timeout)


def restart(*units):
    """Restarts the units with changed files; waits until the node is idle."""
    run(["systemctl", "daemon-reload"])
    run(["systemctl", "restart", *units], 300)
    wait_idle()


def pid_of(unit):
    """Pid of the unit's main process; 0: none."""
    return int(run(["systemctl", "show", "-P", "MainPID", unit]).stdout)


def wait_another(unit, pid):
    """Waits until systemd has started another process than pid, and it is
    ready."""
    wait(f"systemd to start {unit} again", lambda: (
        run(["systemctl", "is-active", unit],
            check=False).stdout.strip() == "active"
        and pid_of(unit) not in (0, pid)), 60)


def is_controlled():
    """Whether the controller has received messages from this node."""
    done = run(["penstock", "nodes", "--json"], check=False)
    return done.returncode == 0 and any(
        row["node"] == "vm" and not row["silent"]
        for row in json.loads(done.stdout)["nodes"])


# -- jobs ---------------------------------------------------------------------


class SiteCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        set_up()

    def setUp(self):
        self.check_nothing_left()  # from an earlier test
        wait_idle()
        self.seen = self.last_line()

    def trainer(self, name, cores, seconds=600):
        """The command of a trainer whose loaders need this number of cores."""
        return ["penstock-train", "--data", DATA, "--batch", "16",
                "--accelerator-s-per-sample", str(SAMPLE_CPU_S / cores),
                "--duration", str(seconds), "--log",
                f"/home/{USER}/{name}.log"]

    def profile(self, name, cores):
        """Writes that trainer's profile; returns the flag."""
        path = f"/home/{USER}/{name}.toml"
        write(path, f'name = "{name}"\n'
              f"accelerator_s_per_sample = {SAMPLE_CPU_S / cores}\n"
              f"loader_cpu_s_per_sample = {SAMPLE_CPU_S}\n")
        return f"--loader-model={path}"

    def sbatch(self, script, *flags, user=USER):
        """Submits a job; returns its id. The job is cancelled after the
        test."""
        path = f"/home/{USER}/job.sh"
        write(path, script if script.startswith("#!") else
              f"#!/bin/sh\n{script}\n", 0o755)
        done = run(["sbatch", "--parsable", "--loader=auto", *flags, path],
                   user=user)
        job = int(re.search(r"(?m)^(\d+)", done.stdout).group(1))
        self.addCleanup(run, ["scancel", job], check=False)
        return job

    def submit(self, name, cores, *flags, **more):
        """Submits a trainer as a job; waits until it runs."""
        job = self.sbatch("exec " + " ".join(
            self.trainer(name, cores, **more)), self.profile(name, cores),
            *flags)
        self.wait_job(job, "RUNNING")
        return job

    def job(self, job):
        text = run(["scontrol", "-o", "show", "job", job], check=False).stdout
        return dict(re.findall(r"(\S+?)=(\S*)", text))

    def wait_job(self, job, state, timeout=60):
        def reached():
            now = self.job(job).get("JobState", "unknown")
            if now != state and now in ENDED:
                raise AssertionError(f"job {job} is {now}, not {state}: "
                                     + self.output(job) + journal())
            return now == state
        wait(f"job {job} to be {state}", reached, timeout)

    def output(self, job):
        path = pathlib.Path(f"/home/{USER}/slurm-{job}.out")
        return path.read_text("utf-8") if path.exists() else ""

    def rate(self, name, seconds):
        """Samples/s of a trainer over the next seconds, from its own log."""
        log = pathlib.Path(f"/home/{USER}/{name}.log")

        def last():
            lines = log.read_text("utf-8") if log.exists() else ""
            whole = [line for line in lines.splitlines() if line.endswith("}")]
            return json.loads(whole[-1]) if whole else None

        start = wait(f"{name}'s first batch", last)
        end = wait(f"{seconds} s of {name}'s log", lambda: (
            last() if last()["t_monotonic"] >= start["t_monotonic"] + seconds
            else None), seconds + 60)
        return ((end["samples"] - start["samples"])
                / (end["t_monotonic"] - start["t_monotonic"]))

    # -- what the kernel and Penstock say --------------------------------------

    def scope(self):
        """Slurm's scope, which contains its jobs' groups."""
        return glob.glob("/sys/fs/cgroup/system.slice/*slurmstepd.scope")[0]

    def job_dirs(self):
        return [path for path in glob.glob(f"{self.scope()}/*")
                if glob.glob(f"{path}/step_*")]

    def only_job_dir(self):
        """The directory of the only running job, after Slurm has made it."""
        (path,) = wait("the job's directory", self.job_dirs)
        return path

    def our_groups(self):
        return glob.glob(f"{self.scope()}/*/step_*/user/task_*/penstock*")

    def away_threads(self):
        found = []
        for path in glob.glob(f"{self.scope()}/*/step_*/user/task_*/"
                              "penstock*_loader/cgroup.threads"):
            try:
                found += pathlib.Path(path).read_text("ascii").split()
            except OSError:
                pass
        return found

    def away_cpus(self):
        """The CPUs lent to the only job, as text."""
        (path,) = glob.glob(f"{self.scope()}/*/step_*/user/task_*/"
                            "penstock*_loader/cpuset.cpus")
        return pathlib.Path(path).read_text("ascii")

    def held_by(self, job):
        """The CPUs that Slurm gave the job on its one node."""
        text = run(["scontrol", "-d", "show", "job", job]).stdout
        return re.search(r"CPU_IDs=(\S+)", text).group(1)

    def wait_away(self, timeout=60):
        return wait("a thread to be away", self.away_threads, timeout)

    def check_nothing_left(self):
        wait("the queue to be empty", lambda: not run(
            ["squeue", "-h"], check=False).stdout.strip(), 60)
        wait("Slurm's directories to be gone", lambda: not self.job_dirs(), 60)

    def check_as_slurm_made_it(self, job, held):
        """The only job's group is as Slurm made it; held: Slurm's CPUs of
        the job."""
        group = pathlib.Path(self.only_job_dir())
        self.assertEqual(cpus_in((group / "cpuset.cpus").read_text("ascii")),
                         cpus_in(held))
        self.assertEqual((group / "cpu.weight").read_text("ascii"), "100\n")
        limits = group / "io.max"  # missing if nothing else needs it
        self.assertEqual(limits.read_text("ascii") if limits.exists() else "",
                         "")
        self.assertEqual(self.our_groups(), [])
        self.assertEqual(self.job(job)["JobState"], "RUNNING")

    def drop_in(self, text, unit="penstockd", daemon=None):
        """Adds a drop-in to the unit for this test and restarts the daemon;
        None: the unit."""
        daemon = daemon or unit
        path = pathlib.Path(f"/run/systemd/system/{unit}.service.d/test.conf")
        write(path, text)
        self.addCleanup(restart, daemon)
        self.addCleanup(path.parent.rmdir)
        self.addCleanup(path.unlink)
        restart(daemon)

    def change(self, path, old, new):
        """Changes one of Slurm's files for this test."""
        text = pathlib.Path(path).read_text("utf-8")
        self.assertIn(old, text)
        write(path, text.replace(old, new))
        self.addCleanup(write, path, text)

    def last_line(self):
        return run(["journalctl", "-q", "-n0", "--show-cursor"]).stdout.split(
            "cursor: ")[1].strip()

    def said(self, word, daemon="penstockd"):
        """The daemon's log lines with the word since the test began."""
        text = run(["journalctl", "-q", "--no-pager", "-o", "cat", "-u",
                    daemon, "-t", daemon, "--after-cursor",
                    self.seen]).stdout
        return [line for line in text.splitlines() if word in line]

    def report(self, job):
        return json.loads(run(["penstock", "report", job, "--json"]).stdout)


def main():
    if not os.path.exists("/usr/local/lib/penstock-vm"):
        print("SKIPPED: this changes the machine: run it with tests/vm/run")
        sys.exit(77)
    unittest.main(module="__main__", verbosity=2)

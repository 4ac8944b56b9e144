"""Removes an embedded cluster: jobs, processes, cgroups, users, files.

Run as a process of its own, started before the cluster. It reads one JSON
line (see Remains) from its standard input and then waits for the end of
that input: embedded.py closes it in stop(), and the kernel closes it when
embedded.py's process dies in whatever way. So there is one way to clean up,
and kill -9 takes it too. What is not there is not an error: cleaning what
is clean already does nothing.
"""

import dataclasses
import glob
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import time

CGROUP_ROOT = "/sys/fs/cgroup"
USER_COMMENT = "Penstock embedded cluster"


@dataclasses.dataclass
class Remains:
    """All that a cluster leaves, by name; names belong to its slot alone."""
    directory: str  # its private directory
    stale: str      # glob of the directories of earlier runs in this slot
    cage: str       # cgroup of the pids controller that holds its processes
    node: str       # slurm_<node> and penstock_<node> are its groups, and the
                    # same with n1, n2, ... where it has several nodes
    users: list     # ordinary users made for it


def wait_until(condition, timeout_s, period_s=0.02):
    """True as soon as condition() holds; False after timeout_s."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(period_s)
    return True


def caged_pids(cage):
    try:
        with open(f"{cage}/cgroup.procs", encoding="ascii") as file:
            return [int(line) for line in file]
    except OSError:
        return []


def signal_all(cage, *numbers):
    for pid in caged_pids(cage):
        for number in numbers:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def slurm(remains, *argv):
    """Runs a Slurm client command; its output, or "" if it failed."""
    environment = dict(os.environ, SLURM_CONF=f"{remains.directory}/slurm.conf")
    try:
        return subprocess.run(argv, env=environment, capture_output=True,
                              text=True, timeout=5, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def end_jobs(remains):
    """Ends jobs as a user would, so that every epilog runs; bounded."""
    jobs = slurm(remains, "squeue", "-h", "-o", "%A").split()
    if not jobs:
        return
    slurm(remains, "scancel", *jobs)
    wait_until(lambda: not slurm(remains, "squeue", "-h").strip(), 10, 0.1)


def groups_of(prefix, node, controller="*"):
    """The groups PREFIX_NODE of one node or of several."""
    found = []
    for name in (node, f"{node}n[0-9]*"):
        found += glob.glob(f"{CGROUP_ROOT}/{controller}/{prefix}_{name}")
    return found


def thaw(node):
    """A process frozen by a suspended job would not die of SIGKILL."""
    paths = [path for top in groups_of("slurm", node, "freezer") for path in
             glob.glob(f"{top}/**/freezer.state", recursive=True)]
    for path in paths:
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write("THAWED")
        except OSError:
            pass


def end_processes(remains):
    """TERM, then KILL, to whatever the cage holds; an error or ""."""
    if not caged_pids(remains.cage):
        return ""
    # CONT: a stopped process acts on TERM only then.
    signal_all(remains.cage, signal.SIGTERM, signal.SIGCONT)
    if wait_until(lambda: not caged_pids(remains.cage), 5):
        return ""

    def kill_again():
        thaw(remains.node)
        signal_all(remains.cage, signal.SIGKILL)
        return not caged_pids(remains.cage)

    if wait_until(kill_again, 20):
        return ""
    return f"processes do not die: {caged_pids(remains.cage)}"


def cgroup_trees(remains):
    trees = [remains.cage]
    for prefix in ("slurm", "penstock"):
        trees += groups_of(prefix, remains.node)
    return [tree for tree in trees if os.path.isdir(tree)]


def remove_tree(tree):
    """rmdir, children first; True when it is gone."""
    for path, _, _ in os.walk(tree, topdown=False):
        try:
            os.rmdir(path)
        except OSError:
            pass
    return not os.path.isdir(tree)


def remove_cgroups(remains):
    trees = cgroup_trees(remains)
    wait_until(lambda: all([remove_tree(tree) for tree in trees]), 10)
    left = [tree for tree in trees if os.path.isdir(tree)]
    return f"cgroups do not go: {left}" if left else ""


def remove_user(name):
    """Deletes a user that we made (its comment says so)."""
    def gone():
        try:
            if pwd.getpwnam(name).pw_gecos != USER_COMMENT:
                return True
        except KeyError:
            return True
        subprocess.run(["userdel", "--force", name], capture_output=True,
                       timeout=30, check=False)
        return False

    # userdel fails while another program holds the lock of /etc/passwd.
    return "" if wait_until(gone, 20, 0.2) else f"user {name} does not go"


def remove_directories(remains):
    for path in {remains.directory, *glob.glob(remains.stale)}:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        # /tmp is everybody's: only directories of ours.
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
            shutil.rmtree(path, ignore_errors=True)
    if os.path.isdir(remains.directory):
        return f"directory {remains.directory} does not go"
    return ""


def clean(remains):
    """Removes everything; returns what could not be, as lines."""
    if caged_pids(remains.cage):
        end_jobs(remains)
    problems = [end_processes(remains), remove_cgroups(remains)]
    problems += [remove_user(name) for name in remains.users]
    problems.append(remove_directories(remains))
    return [problem for problem in problems if problem]


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = sys.stdin.readline()
    if not line:
        return 0
    remains = Remains(**json.loads(line))
    # What a killed predecessor in this slot may have left.
    predecessor = dataclasses.replace(remains, directory="/nonexistent")
    problems = clean(predecessor)
    print("\n".join(problems) or "ready", flush=True)
    sys.stdin.read()
    problems = clean(remains)
    for problem in problems:
        print(f"janitor: {problem}", file=sys.stderr, flush=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

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

import hierarchy

# How often as long to wait on an emulated machine (tests/vm/run); nothing is
# timed there.
PATIENCE = int(os.environ.get("PENSTOCK_EMULATED", "1"))
USER_COMMENT = "Penstock embedded cluster"


@dataclasses.dataclass
class Remains:
    """All that a cluster leaves, by name; names belong to its slot alone."""
    directory: str  # its private directory
    stale: str      # glob of the directories of earlier runs in this slot
    node: str       # its groups are named by it (hierarchy.py), and by the
                    # same with n1, n2, ... where it has several nodes
    users: list     # ordinary users made for it


def wait_until(condition, timeout_s, period_s=0.02):
    """True as soon as condition() holds; False after timeout_s."""
    deadline = time.monotonic() + timeout_s * PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(period_s)
    return True


def signal_all(node, *numbers):
    for pid in hierarchy.pids(node):
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
                              text=True, timeout=5 * PATIENCE,
                              check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def end_jobs(remains):
    """Ends jobs as a user would, so that every epilog runs; bounded."""
    jobs = slurm(remains, "squeue", "-h", "-o", "%A").split()
    if not jobs:
        return
    slurm(remains, "scancel", *jobs)
    wait_until(lambda: not slurm(remains, "squeue", "-h").strip(), 10, 0.1)


def end_processes(remains):
    """TERM, then KILL, to whatever the cage holds; an error or ""."""
    if not hierarchy.pids(remains.node):
        return ""
    # CONT: a stopped process acts on TERM only then.
    signal_all(remains.node, signal.SIGTERM, signal.SIGCONT)
    if wait_until(lambda: not hierarchy.pids(remains.node), 5):
        return ""

    def kill_again():
        hierarchy.thaw(remains.node)
        signal_all(remains.node, signal.SIGKILL)
        return not hierarchy.pids(remains.node)

    if wait_until(kill_again, 20):
        return ""
    return f"processes do not die: {hierarchy.pids(remains.node)}"


def cgroup_trees(remains):
    trees = [hierarchy.cage(remains.node), *hierarchy.slurm_trees(remains.node),
             *hierarchy.our_groups(remains.node)]
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
    if hierarchy.pids(remains.node):
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

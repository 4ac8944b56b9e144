"""Removes an embedded cluster: jobs, processes, cgroups, users, files.

It runs in a separate process, started before the cluster. It reads one JSON
line (see Remains) from its standard input and then waits for the end of that
input: embedded.py closes it in stop(), and the kernel closes it when
embedded.py's process dies in any way. So the clean-up is always the same, also
after kill -9. Missing parts are not an error: a second clean-up does nothing.
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

# Factor of all time limits on an emulated machine (tests/vm/run); nothing is
# measured there.
PATIENCE = int(os.environ.get("PENSTOCK_EMULATED", "1"))
USER_COMMENT = "Penstock embedded cluster"


@dataclasses.dataclass
class Remains:
    """All leftovers of a cluster, by name; the names belong to its slot
    alone."""
    directory: str  # its private directory
    stale: str      # glob of the directories of earlier runs in this slot
    node: str       # name of its groups (hierarchy.py); with several nodes
                    # also followed by n1, n2, ...
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
    """Runs a Slurm client command; returns its output, or "" if it failed."""
    environment = dict(os.environ, SLURM_CONF=f"{remains.directory}/slurm.conf")
    try:
        return subprocess.run(argv, env=environment, capture_output=True,
                              text=True, timeout=5 * PATIENCE,
                              check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def end_jobs(remains):
    """Cancels jobs like a user, so that every epilog runs; bounded."""
    jobs = slurm(remains, "squeue", "-h", "-o", "%A").split()
    if not jobs:
        return
    slurm(remains, "scancel", *jobs)
    wait_until(lambda: not slurm(remains, "squeue", "-h").strip(), 10, 0.1)


def end_processes(remains):
    """Sends TERM, then KILL, to the cage's processes; returns an error or
    ""."""
    if not hierarchy.pids(remains.node):
        return ""
    # CONT: a stopped process handles TERM only then.
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
    """Removes the directories, children first; True if they are gone."""
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
    """Deletes a user that we made, as its comment shows."""
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


def unmount_below(directory):
    """A killed slurmd leaves the mounts of its jobs' /tmp."""
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line.split()[1] for line in file]
    for path in reversed(mounts):  # the last one first
        if path.startswith(f"{directory}/"):
            subprocess.run(["umount", "--lazy", path], capture_output=True,
                           timeout=30, check=False)


def remove_directories(remains):
    for path in {remains.directory, *glob.glob(remains.stale)}:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        # All users can write to /tmp: only our own directories count.
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
            unmount_below(path)
            shutil.rmtree(path, ignore_errors=True)
    if os.path.isdir(remains.directory):
        return f"directory {remains.directory} does not go"
    return ""


def clean(remains):
    """Removes everything; returns the failures as lines."""
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
    # Leftovers of a killed predecessor in this slot.
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

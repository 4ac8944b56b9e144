"""Attacks by namespaces, clocks and control groups."""

import errno
import glob
import itertools
import os
import select
import socket
import time

from hostile import agent, pages
from hostile.attack import Broke, NotHere, attack, check, libc, start

SPACES = {"user": 0x10000000, "mount": 0x00020000, "cgroup": 0x02000000,
          "uts": 0x04000000, "ipc": 0x08000000, "pid": 0x20000000,
          "net": 0x40000000}
NEWTIME = 0x00000080


def unshare(flags):
    """Enters a new user namespace, and others, as its root."""
    uid, gid = os.getuid(), os.getgid()
    check(libc.unshare(SPACES["user"] | flags), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"),
                       ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def succeeds(function, *arguments):
    """Runs function in a child; whether it did not fail."""
    pid = os.fork()
    if pid == 0:
        try:
            function(*arguments)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def need(flags, what):
    if not succeeds(unshare, flags):
        raise NotHere(f"no {what} namespaces for ordinary users")


@attack("speaks to penstockd as root of its own user and pid namespace",
        "refusals")
def inner_root(site):
    """There its own pid is 1, and the pids that it names are others'."""
    need(SPACES["pid"], "pid")
    reader, writer = os.pipe()
    unshare(SPACES["pid"])
    count = 0
    while True:
        start(ask_inside, site, writer)
        if not select.select([reader], [], [], 1.5 * agent.ANSWER_S)[0]:
            raise TimeoutError("no reply to the root of a namespace")
        reply = os.read(reader, 1)
        if reply == b"!":
            raise Broke("root of a namespace was taken for root")
        if reply == b".":
            count += len(agent.root_only()) * len(site.sockets)
        # A pid namespace ends with its first process.
        if not site.goes_on():
            return count


def ask_inside(site, writer):
    """The reply to the attack: "!" if a message was not refused, "-" if
    penstockd has closed a connection, as it may after the attacks before."""
    try:
        refused = all([ask_on(path) for path in site.sockets])
        os.write(writer, b"." if refused else b"!")
    except (ConnectionError, TimeoutError):
        os.write(writer, b"-")
    time.sleep(60)


def ask_on(path):
    """Whether all of root's messages were refused."""
    with agent.connect(path) as channel:
        replies = [agent.ask(channel, packet)[0]
                   for packet in agent.root_only()]
        for number in (1, 2, os.getpid()):
            agent.ask(channel, agent.thread(number))
        return set(replies) == {errno.EPERM}


@attack("enters new namespaces of every kind, in many processes", "namespaces")
def namespace_storm(site):
    flags = sum(SPACES.values()) - SPACES["user"]
    need(flags, "such")
    count = 0

    def enter():
        unshare(flags)
        if os.fork() == 0:
            time.sleep(0.05)
    while site.goes_on():
        os.waitpid(start(enter), 0)
        count += len(SPACES)
    return count


@attack("steps the clock of its own time namespace, in processes with pages",
        "steps")
def clock_steps(site):
    """The kernel gives such a process other monotonic times, which it writes
    into its page. The machine's clock it may not set."""
    try:
        time.clock_settime(time.CLOCK_REALTIME, time.time() + 3600)
    except PermissionError:
        pass
    else:
        raise Broke("set the machine's clock")

    need(NEWTIME, "time")
    count = 0
    for offset_s in itertools.cycle((1, -1, 3600, -3600, 10 ** 6, 10 ** 9)):
        # The uptime limits steps back.
        count += succeeds(step_clock, site, offset_s)
        if not site.goes_on():
            return count


def step_clock(site, offset_s):
    """Enters a time namespace with that offset; a child reports there."""
    unshare(NEWTIME)
    with open("/proc/self/timens_offsets", "w", encoding="ascii") as file:
        file.write(f"monotonic {offset_s} 0\nboottime {offset_s} 0\n")

    def report():
        site.end = time.monotonic() + 0.05
        pages.page_backwards(site)
    os.waitpid(start(report), 0)


@attack("moves itself into other control groups, and writes their files",
        "refusals")
def group_moves(site):
    files = [path for pattern in (
        "/sys/fs/cgroup/*/*/cgroup.procs", "/sys/fs/cgroup/*/cgroup.procs",
        "/sys/fs/cgroup/*/*/tasks", "/sys/fs/cgroup/*/*/*/*/tasks",
        "/sys/fs/cgroup/*/*/*/*/cgroup.procs",
        "/sys/fs/cgroup/*/*/*/*/cpuset.cpus",
        "/sys/fs/cgroup/*/penstock*/*/*", "/sys/fs/cgroup/*/*/cpu.idle",
        "/sys/fs/cgroup/*/*/cpuset.cpus") for path in glob.glob(pattern)]
    count = 0
    while True:
        for path in files:
            try:
                with open(path, "w", encoding="ascii") as file:
                    file.write("0")
            except OSError:
                count += 1
                continue
            raise Broke(f"wrote to {path}")
        if not site.goes_on():
            return count


@attack("puts a socket of its own in the place of penstockd's", "refusals")
def false_daemon(site):
    count = 0
    while True:
        for path in site.sockets:
            with socket.socket(socket.AF_UNIX,
                               socket.SOCK_SEQPACKET) as channel:
                for call in (lambda: os.unlink(path),
                             lambda: os.rename(path, path + ".old"),
                             lambda: os.chmod(path, 0),
                             lambda: channel.bind(path)):
                    try:
                        call()
                    except OSError:
                        count += 1
                        continue
                    raise Broke(f"replaced {path}")
        if not site.goes_on():
            return count

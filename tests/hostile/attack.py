"""What all attacks share: the table, the place that they attack, and how one is
run and ended."""

import ctypes
import dataclasses
import json
import os
import select
import signal
import time
import traceback
import typing

from hostile import agent

GRACE_S = 6 * agent.ANSWER_S  # for an attack's end after its time
PR_SET_CHILD_SUBREAPER = 36

libc = ctypes.CDLL(None, use_errno=True)


class Broke(Exception):
    """An attack got what it must not get."""


class NotHere(Exception):
    """This machine does not allow the attack; the reason."""


@dataclasses.dataclass
class Site:
    """The attacked installation, as an ordinary user may know it.

    sockets      of the penstockds; the first one is the job's own
    controllers  "HOST:PORT" of each penstockctld
    munge        munged's socket
    fuse         a device that opens as /dev/fuse
    home         the attacker's own folder
    reports, state   ReportDir and StateDir of the penstockds
    victims      numbers of other users' jobs
    strangers    processes of others: jobs, daemons
    end          time.monotonic() at which the attack should end"""
    sockets: list
    controllers: list
    munge: str
    fuse: str
    home: str
    reports: str
    state: list
    victims: list
    strangers: list
    end: float = 0

    def goes_on(self):
        return time.monotonic() < self.end

    def rest_s(self):
        return max(0.0, self.end - time.monotonic())


@dataclasses.dataclass(frozen=True)
class Attack:
    name: str
    tries: str   # one sentence
    counts: str  # what the result of run() counts
    run: typing.Callable[[Site], int]


ATTACKS = {}


def attack(tries, counts):
    """Puts a function into the table. It attacks until the site's end and
    returns a count that shows what it did."""
    def enter(function):
        name = function.__name__
        assert name not in ATTACKS, name
        ATTACKS[name] = Attack(name, tries, counts, function)
        return function
    return enter


def check(result, what):
    """Raises the OSError of a call of libc that returned -1."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


# -- running one ---------------------------------------------------------------

def become_reaper():
    """Orphans of attacks become children of this process, to be ended."""
    check(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def run(name, site):
    """Runs the attack in a child, and ends all that it leaves; a dict with
    `count`, or with `broke`, `not_here` or `error`."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        os.write(writer, json.dumps(outcome(ATTACKS[name], site)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        is_told = select.select([file], [], [], site.rest_s() + GRACE_S)[0]
        # One read: descendants may hold the other end.
        text = os.read(file.fileno(), 1 << 16) if is_told else b""
    end_descendants()
    if not text:
        return {"error": f"{name}: no result {GRACE_S} s after its time"}
    return json.loads(text)


def outcome(entry, site):
    try:
        return {"count": entry.run(site)}
    except Broke as error:
        return {"broke": str(error)}
    except NotHere as error:
        return {"not_here": str(error)}
    except BaseException:  # pylint: disable=broad-except
        return {"error": traceback.format_exc()[-2000:]}


def children():
    with open(f"/proc/self/task/{os.getpid()}/children",
              encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def end_descendants():
    """Kills children until there are none; their own children follow."""
    while True:
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def start(function, *arguments):
    """Runs function in a child; its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            function(*arguments)
        finally:
            os._exit(0)
    return pid


def stop(pid):
    """Kills and reaps a child."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def reap():
    """Reaps children that have ended; their number."""
    count = 0
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            count += 1
    except ChildProcessError:
        pass
    return count

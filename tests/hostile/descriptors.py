"""Attacks with descriptors: attached to messages, or used up."""

import ctypes
import errno
import itertools
import os
import socket
import time

from hostile import agent
from hostile.attack import attack, check, libc

MOST_FDS = 253  # of one message, SCM_MAX_FD
IN_ALL_EVENTS = 0xFFF


def attach_all(site, make):
    """Sends messages with the descriptors that make() returns; their
    number."""
    count = 0
    for path in itertools.cycle(site.sockets):
        with agent.connect(path) as channel:
            fds = make(channel)
            try:
                socket.send_fds(channel, [agent.status()], fds,
                                socket.MSG_DONTWAIT)
                count += len(fds)
            except OSError as error:
                # ETOOMANYREFS: more on their way than the user may open.
                if error.errno not in (errno.EAGAIN, errno.ETOOMANYREFS,
                                       errno.EPIPE):
                    raise
            agent.close_all(set(fds) - {channel.fileno()})
        if not site.goes_on():
            return count


@attack("attaches as many pipes to a message as the kernel allows",
        "descriptors")
def attached_pipes(site):
    return attach_all(site, lambda channel: [
        fd for _ in range(MOST_FDS // 2) for fd in os.pipe()])


@attack("attaches sealed memory files to messages", "descriptors")
def attached_memory(site):
    def make(channel):
        fd = os.memfd_create("hostile", os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, 1 << 20)
        return [fd]
    return attach_all(site, make)


@attack("attaches a connection to a message on itself, in a cycle",
        "descriptors")
def attached_cycles(site):
    return attach_all(site, lambda channel: [channel.fileno()])


@attack("opens files until it may open no more, then connects", "files")
def open_files(site):
    count = 0
    while site.goes_on():
        fds = []
        try:
            while site.goes_on():
                fds.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
        count += len(fds)
        try:
            agent.connect(site.sockets[0]).close()
        except OSError:
            pass
        agent.close_all(fds)
    return count


@attack("uses up the user's inotify instances, with a thousand watches each",
        "watches")
def inotify_instances(site):
    fds, count = [], 0
    while site.goes_on():
        fd = libc.inotify_init1(0)
        if fd == -1:  # no more for this user: keep them for the whole time
            if ctypes.get_errno() not in (errno.EMFILE, errno.ENOSPC):
                check(fd, "inotify_init1")
            time.sleep(0.01)
            continue
        fds.append(fd)
        for number in range(1000):
            path = f"{site.home}/watched{number % 20}"
            os.makedirs(path, exist_ok=True)
            if libc.inotify_add_watch(fd, path.encode(), IN_ALL_EVENTS) == -1:
                break
            count += 1
    return count

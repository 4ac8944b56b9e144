"""Attacks by processes and threads of the job."""

import ctypes
import itertools
import os
import pathlib
import resource
import signal
import threading
import time

from hostile import agent, lock_memory
from hostile.attack import NotHere, attack, check, libc, reap, start, stop

PR_SET_NAME = 15
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_CONT = 0x4206, 0x4207, 7
MOST_PROCESSES = 300


def limit_processes():
    """A limit of the user's processes, as a site may set it. The machine has
    other users."""
    resource.setrlimit(resource.RLIMIT_NPROC,
                       (MOST_PROCESSES, MOST_PROCESSES))


@attack("forks up to its process limit, ends all and begins again", "forks")
def fork_storm(site):
    limit_processes()
    count = 0
    while site.goes_on():
        pids = []
        try:
            while site.goes_on():
                pids.append(start(signal.pause))
        except BlockingIOError:
            pass
        count += len(pids)
        for pid in pids:
            stop(pid)
    return count


# Arguments: a file that ends it and gets the number. A shell forks much faster
# than Python.
FORK_AGAIN = ('i=0; while [ ! -e "$0" ]; do (:); i=$((i + 1)); done; '
              'echo $i > "$0"')


def run_shell(site, *arguments):
    """Runs a shell that counts until the file `told` appears; the count."""
    told = pathlib.Path(site.home, "told")
    told.unlink(missing_ok=True)
    pid = start(os.execv, "/bin/sh", ["sh", "-c", *arguments, str(told)])
    time.sleep(site.rest_s())
    told.touch()
    os.waitpid(pid, 0)
    return int(told.read_text("ascii"))


@attack("forks children that end at once, thousands a second", "children")
def short_children(site):
    return run_shell(site, FORK_AGAIN)


@attack("leaves its children unreaped, as zombies", "zombies")
def zombies(site):
    limit_processes()
    count = 0
    while site.goes_on():
        try:
            if os.fork() == 0:
                os._exit(0)
            count += 1
        except BlockingIOError:
            time.sleep(0.05)
    return count


@attack("forks grandchildren that leave their session and their parent",
        "orphans")
def orphans(site):
    def leave():
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.05)
        os._exit(0)
    count = 0
    while site.goes_on():
        os.waitpid(start(leave), 0)
        count += 1
        time.sleep(0.001)
    return count


# Arguments: this text, a number, and a file that ends it and gets the number.
EXEC_AGAIN = ('if [ -e "$2" ]; then echo "$1" > "$2"; exit; fi; '
              'exec sh -c "$0" "$0" $(($1 + 1)) "$2"')


@attack("replaces its program over and over in one process", "execs")
def exec_storm(site):
    return run_shell(site, EXEC_AGAIN, EXEC_AGAIN, "1")


def set_name(name):
    libc.prctl(PR_SET_NAME, name, 0, 0, 0)


@attack("starts and ends threads that have a loader's name", "threads")
def thread_storm(site):
    def live():
        set_name(b"pst_loader")
        time.sleep(0.02)
    count = 0
    while site.goes_on():
        if threading.active_count() < 200:
            threading.Thread(target=live).start()
            count += 1
        else:
            time.sleep(0.001)
    return count


@attack("renames threads between a loader's name and others", "renamings")
def renaming_storm(site):
    names = itertools.cycle((b"pst_loader", b"python3", b"pt_data_worker",
                             b"penstockd", b""))
    count = 0
    while site.goes_on():
        set_name(next(names))
        count += 1
    return count


def loader():
    """A child that computes as a loader, and is registered as one."""
    set_name(b"pst_loader")
    while True:
        pass


def start_loader(site):
    pid = start(loader)
    with agent.connect(site.sockets[0]) as channel:
        agent.ask(channel, agent.thread(pid))
    return pid


@attack("stops and continues its own loader process", "signals")
def stop_storm(site):
    pid = start_loader(site)
    count = 0
    while site.goes_on():
        for number in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(pid, number)
            count += 1
            time.sleep(0.0002)
    stop(pid)
    return count


@attack("traces its own loader process and interrupts it", "interrupts")
def traced_loader(site):
    pid = start_loader(site)
    if libc.ptrace(PTRACE_SEIZE, pid, 0, 0) == -1:
        stop(pid)
        raise NotHere(f"ptrace: {os.strerror(ctypes.get_errno())}")
    count = 0
    while site.goes_on():
        check(libc.ptrace(PTRACE_INTERRUPT, pid, 0, 0), "interrupt")
        os.waitpid(pid, 0)
        check(libc.ptrace(PTRACE_CONT, pid, 0, 0), "continue")
        count += 1
        time.sleep(0.0005)
    stop(pid)
    return count


@attack("holds the lock of its own memory by a FUSE file system that never "
        "answers", "processes")
def memory_lock(site):
    """Every reader of such a process's command line hangs; on the whole
    machine, so they are few and end with the attack."""
    def hang():
        lock_memory.hold(site.rest_s(), site.fuse, lambda: None)
    if not os.access(site.fuse, os.R_OK | os.W_OK):
        raise NotHere(f"no access to {site.fuse}")
    pids = [start(hang) for _ in range(2)]
    time.sleep(site.rest_s() / 2)
    # A process that holds the lock, or waits for it, does not end.
    count = sum(os.waitpid(pid, os.WNOHANG)[0] == 0 for pid in pids)
    time.sleep(site.rest_s())
    return count


@attack("maps and unmaps ten thousand regions of memory", "mappings")
def mapping_storm(site):
    libc.mmap.restype = ctypes.c_void_p
    count = 0
    while site.goes_on():
        places = []
        for number in range(10_000):
            # Neighbours of the same protection would be merged.
            places.append(libc.mmap(None, ctypes.c_size_t(4096),
                                    1 + number % 2, 0x22, -1,
                                    ctypes.c_long(0)))
            if not site.goes_on():
                break
        count += len(places)
        for place in places:
            libc.munmap(ctypes.c_void_p(place), ctypes.c_size_t(4096))
    return count

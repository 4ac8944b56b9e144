"""Attacks by settings of the job's threads that penstockd also writes."""

import itertools
import os
import threading

from hostile import agent
from hostile.attack import Broke, attack
from hostile.processes import start_loader, stop


@attack("gives its loader threads all CPUs back as soon as they lose some",
        "settings")
def affinity_storm(site):
    pids = [start_loader(site) for _ in range(2)]
    allowed = os.sched_getaffinity(0)
    everything = set(range(os.cpu_count()))
    count = 0
    while site.goes_on():
        for pid in pids:
            os.sched_setaffinity(pid, everything)
            count += 1
            # Own CPUs, and lent ones at most.
            if not os.sched_getaffinity(pid) & allowed:
                raise Broke("a thread lost its job's CPUs")
    for pid in pids:
        stop(pid)
    return count


@attack("sets its threads' priorities up and down, and to what only root may "
        "set", "settings")
def priority_storm(site):
    count = 0
    pid = start_loader(site)
    for nice in itertools.cycle(range(0, 20)):
        for who in (0, pid):
            try:
                os.setpriority(os.PRIO_PROCESS, who, nice)
            except PermissionError:
                pass
            count += 1
        try:
            os.setpriority(os.PRIO_PROCESS, 0, -20)
        except PermissionError:
            pass
        else:
            raise Broke("got priority -20")
        if not site.goes_on():
            stop(pid)
            return count


@attack("changes its threads' scheduling classes, and asks for real time",
        "settings")
def class_storm(site):
    pid = start_loader(site)
    classes = itertools.cycle((os.SCHED_BATCH, os.SCHED_OTHER, os.SCHED_IDLE,
                               os.SCHED_OTHER, os.SCHED_FIFO, os.SCHED_RR))
    count = 0
    while site.goes_on():
        kind = next(classes)
        real_time = kind in (os.SCHED_FIFO, os.SCHED_RR)
        try:
            os.sched_setscheduler(pid, kind, os.sched_param(real_time))
        except PermissionError:
            continue
        if real_time:
            raise Broke("got a real-time class")
        count += 1
    stop(pid)
    return count


@attack("registers a hundred threads that each sleep and wake at once",
        "wake-ups")
def wakeup_storm(site):
    counts = []
    def live():
        own = 0
        wait = threading.Event().wait
        while site.goes_on():
            wait(0.001)
            own += 1
        counts.append(own)
    threads = [threading.Thread(target=live) for _ in range(100)]
    for thread in threads:
        thread.start()
    with agent.connect(site.sockets[0]) as channel:
        for thread in threads:
            agent.send(channel, agent.thread(thread.native_id))
    for thread in threads:
        thread.join()
    return sum(counts)

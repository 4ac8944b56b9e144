"""What penstockd has changed on a node, as the kernel says."""

import os

import agent_parts
import hierarchy


def jobs_on(node):
    """Numbers of the jobs that have groups of Slurm's there."""
    return list(filter(None, map(hierarchy.job_of, hierarchy.job_dirs(node))))


def odd_threads(node):
    """Threads of users that have other CPUs or another policy than Slurm gave
    them, each as a tuple of facts. A step that starts has some, too."""
    odd = []
    for job in jobs_on(node):
        held = hierarchy.held_by(node, job)
        for tid in hierarchy.job_threads(node, job) if held else ():
            try:
                status = agent_parts.status_of(tid)
                policy = os.sched_getscheduler(tid)
            except (FileNotFoundError, ProcessLookupError):
                continue
            cpus = " ".join(status["Cpus_allowed_list"])
            if status["Uid"][0] != "0" and (cpus, policy) != (held,
                                                              os.SCHED_OTHER):
                odd.append((job, tid, status["Name"], cpus, held, policy))
    return odd


def groups_and_marks(node):
    """penstockd's groups, and its marks and weights on Slurm's groups."""
    return hierarchy.our_groups(node) + [
        change for job in jobs_on(node)
        for change in hierarchy.changes(node, job)]


def kinds(node):
    """Which of "loan", "limit" and "masks" there are."""
    found = set()
    for job in jobs_on(node):
        if hierarchy.away_threads(node, job):
            found.add("loan")
        if hierarchy.cpu_limit(node, job):
            found.add("limit")
    if odd_threads(node):
        found.add("masks")
    return found

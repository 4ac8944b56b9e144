"""Slurm's and Penstock's control groups of an embedded node, in cgroup v1
hierarchies or in the unified one."""

import glob
import os
import pathlib

ROOT = "/sys/fs/cgroup"
UNIFIED = os.path.exists(f"{ROOT}/cgroup.controllers")
# v1: cpu and cpuacct are one hierarchy.
COMOUNTED = os.path.isdir(f"{ROOT}/cpu,cpuacct")
# Older kernels: only threads are lent CPUs, and on v2 nothing is, without
# MoveProcesses=always.
LENDS_PROCESSES = tuple(int(part) for part in
                        os.uname().release.split("-")[0].split(".")[:2]) >= (
                            6, 2)


# Without users who are not trusted, the tests lend on all kernels.
MOVES = "safe" if LENDS_PROCESSES else "always"


def missing():
    """The reason why Slurm cannot constrain its jobs here, as a sentence, or
    ""."""
    if UNIFIED:
        controllers = pathlib.Path(ROOT, "cgroup.controllers").read_text()
        for controller in ("cpuset", "cpu", "memory"):
            if controller not in controllers.split():
                return f"no controller {controller} in the unified hierarchy"
        return ""
    for controller in ("freezer", "cpuset", "cpu", "memory", "pids"):
        if not os.path.exists(f"{ROOT}/{controller}/cgroup.procs"):
            return (f"no cgroup v1 controller {controller} in {ROOT}, and no "
                    "unified hierarchy there")
    return ""


def is_process(tid):
    """Whether it is a process's first thread."""
    try:
        text = pathlib.Path(f"/proc/{tid}/status").read_text("utf-8")
    except OSError:
        return False
    return f"\nTgid:\t{tid}\n" in text


def plugin():
    """The value of CgroupPlugin= in cgroup.conf."""
    return "cgroup/v2" if UNIFIED else "cgroup/v1"


def cage(node):
    """A group for all processes of a cluster that are in no job."""
    return (f"{ROOT}/embedded_{node}" if UNIFIED
            else f"{ROOT}/pids/embedded_{node}")


def cpus_in(text):
    """Parses a list such as "0-1,3" into a set of numbers."""
    cpus = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def slurmd_argv(name, *argv):
    """The command that starts slurmd with the right to make its jobs'
    groups. v2: in a scope as with Delegate=yes; the process stays the
    caller's child."""
    if not UNIFIED:
        return ["slurmd", *argv]
    return ["systemd-run", "--scope", "--quiet", "--collect",
            "--slice=system.slice", f"--unit=embedded_{name}",
            "--property=Delegate=yes", "slurmd", *argv]


def names(node):
    """Patterns of the node's name, and of the names of a cluster's nodes."""
    return [node, f"{node}n[0-9]*"]


def slurm_trees(node, controller="*"):
    """The top directories of Slurm's groups, of one node or of several."""
    pattern = "{root}/system.slice/{name}_slurmstepd.scope" if UNIFIED else \
        "{root}/{controller}/slurm_{name}"
    return [path for name in names(node) for path in glob.glob(
        pattern.format(root=ROOT, name=name, controller=controller))]


def in_step(node, text):
    """Whether TEXT, from /proc/PID/cgroup, belongs to a task of a step."""
    top = (f"0::/system.slice/{node}_slurmstepd.scope/" if UNIFIED
           else f":cpuset:/slurm_{node}/")
    return any(top in line and "/step_" in line for line in text.splitlines())


def changes(node, job):
    """penstockd's unrestored changes of a job's Slurm groups: marks and
    weights. v1: always empty."""
    if not UNIFIED:
        return []
    top = job_dir(node, job)
    found = [f"{path}: {name}" for path, _, _ in os.walk(top)
             for name in os.listxattr(path)
             if name.startswith(f"trusted.penstock_{node}.")
             and not name.endswith(".step")]
    weight = pathlib.Path(top, "cpu.weight").read_text("ascii").strip()
    return found + [f"{top}: weight {weight}"] * (weight != "100")


def our_groups(node):
    """Paths of all groups that penstockd, or a benchmark, has made and not
    removed."""
    if not UNIFIED:
        return [path for name in names(node) for end in ("", "_limit", "_bench")
                for top in glob.glob(f"{ROOT}/*/penstock_{name}{end}")
                for path, _, _ in os.walk(top)]
    return [path for top in slurm_trees(node) for name in names(node)
            for path in glob.glob(f"{top}/*/step_*/user/task_*/"
                                  f"penstock_{name}_*")]


def cpu_limit(node, job):
    """The job's CPU limit from penstockd, as the kernel has it: "QUOTA
    PERIOD" in us; None: no limit."""
    if UNIFIED:
        text = content(f"{job_dir(node, job)}/cpu.max").strip()
        return None if text.startswith("max") or not text else text
    group = f"{ROOT}/cpu/penstock_{node}_limit/job_{job}"
    quota = content(f"{group}/cpu.cfs_quota_us").strip()
    period = content(f"{group}/cpu.cfs_period_us").strip()
    return None if quota in ("", "-1") else f"{quota} {period}"


def content(path):
    """A file's text; empty if the group or process has just ended."""
    try:
        return pathlib.Path(path).read_text("ascii", "replace")
    except OSError:
        return ""


def job_of(directory):
    """The id of the job with that directory, or None."""
    name = os.path.basename(directory)
    if name.startswith("job_"):
        return int(name[4:])
    # From Slurm 26.05 on the directory has another name: ask its processes.
    for procs in glob.glob(f"{directory}/step_*/user/task_*/cgroup.procs"):
        for pid in content(procs).split():
            for entry in content(f"/proc/{pid}/environ").split("\0"):
                if entry.startswith("SLURM_JOB_ID="):
                    return int(entry.split("=")[1])
    return None


def job_dirs(node):
    """The job directories that Slurm has made and not removed."""
    if UNIFIED:
        return [path for top in slurm_trees(node)
                for path in glob.glob(f"{top}/*")
                if glob.glob(f"{path}/step_*")]
    return [path for top in slurm_trees(node, "cpuset")
            for path in glob.glob(f"{top}/uid_*/job_*")]


def left_in_scopes(node):
    """v2: leftovers in Slurm's scopes, beside its own group."""
    return [path for top in slurm_trees(node)
            for path in glob.glob(f"{top}/*/")
            if os.path.basename(path.rstrip("/")) != "system"]


def job_dir(node, job):
    """The directory of a job (v1: its cpuset), or None."""
    return next((path for path in job_dirs(node) if job_of(path) == job), None)


def job_tops(node, job):
    """The job's directory in every hierarchy."""
    if UNIFIED:
        return [path for path in [job_dir(node, job)] if path]
    return [path for top in slurm_trees(node)
            for path in glob.glob(f"{top}/uid_*/job_{job}")]


def held_by(node, job):
    """The CPUs that Slurm gave the job, as text. Empty before a process has
    them: Slurm makes the directory after it calls the job running, and first
    gives it all CPUs."""
    directory = job_dir(node, job)
    tasks = "user/**/cgroup.procs" if UNIFIED else "**/tasks"
    if directory is None or not any(map(content, glob.glob(
            f"{directory}/step_*/{tasks}", recursive=True))):
        return ""
    if UNIFIED:
        # A mark on the group has Slurm's value if penstockd has extended it.
        try:
            return os.getxattr(directory, f"trusted.penstock_{node}.cpus"
                               ).decode().split()[0]
        except OSError:
            pass
    return content(f"{directory}/cpuset.cpus").strip()


def away_cpus_pattern(node):
    """Shell pattern of the files with the CPUs that are lent to jobs of a
    node."""
    return (f"{ROOT}/system.slice/{node}_slurmstepd.scope/*/step_*/user/task_*/"
            f"penstock_{node}_loader/cpuset.cpus" if UNIFIED
            else f"{ROOT}/cpuset/penstock_{node}/job_*/cpuset.cpus")


def away_groups(node, job):
    """The groups of the job's away threads."""
    if not UNIFIED:
        path = f"{ROOT}/cpuset/penstock_{node}/job_{job}"
        return [path] if os.path.isdir(path) else []
    directory = job_dir(node, job)
    return glob.glob(f"{directory}/step_*/user/task_*/"
                     f"penstock_{node}_loader") if directory else []


def away_cpus(node, job):
    """The CPUs lent to a job, as the kernel lists them; "": none."""
    for group in away_groups(node, job):
        try:
            return pathlib.Path(group, "cpuset.cpus").read_text().strip()
        except OSError:
            pass
    return ""


def away_threads(node, job):
    """The ids of a job's away threads."""
    found = []
    for group in away_groups(node, job):
        name = "cgroup.threads" if UNIFIED else "tasks"
        try:
            text = pathlib.Path(group, name).read_text()
        except OSError:
            continue
        found += [int(tid) for tid in text.split()]
    return found


def job_threads(node, job):
    """All threads in the job's groups."""
    tops = [job_dir(node, job)] if UNIFIED else [
        path for top in slurm_trees(node, "freezer")
        for path in glob.glob(f"{top}/uid_*/job_{job}")]
    name = "cgroup.threads" if UNIFIED else "tasks"
    found = []
    for top in filter(None, tops):
        for path in glob.glob(f"{top}/**/{name}", recursive=True):
            try:
                text = pathlib.Path(path).read_text("ascii")
            except OSError:
                continue
            found += [int(tid) for tid in text.split()]
    return found


def write(path, text):
    """Writes to a control file; a missing group is no error."""
    try:
        pathlib.Path(path).write_text(text, "ascii")
    except OSError:
        pass


def thaw(node):
    """Thaws processes: one frozen by a suspended job would not die of
    SIGKILL."""
    name, text = (("cgroup.freeze", "0") if UNIFIED
                  else ("freezer.state", "THAWED"))
    for top in slurm_trees(node, "freezer"):
        for path in glob.glob(f"{top}/**/{name}", recursive=True):
            write(path, text)


def pids(node):
    """Processes in the cluster's cage; v2: also those in its jobs, which
    Slurm moves out of the cage."""
    found = []
    tops = [cage(node)]
    if UNIFIED:
        tops += slurm_trees(node)
        tops += [path for name in names(node) for path in glob.glob(
            f"{ROOT}/system.slice/embedded_{name}.scope")]
    for top in tops:
        for path in [f"{top}/cgroup.procs", *glob.glob(
                f"{top}/**/cgroup.procs", recursive=True)]:
            try:
                text = pathlib.Path(path).read_text("ascii")
            except OSError:
                continue  # gone, or a threaded group: its domain lists them
            found += [int(pid) for pid in text.split()]
    return sorted(set(found))


def process_s(pid):
    """CPU seconds of a process, without its children."""
    fields = content(f"/proc/{pid}/stat").rpartition(")")[2].split()
    # Fields 14 and 15 of proc(5); the first two are cut off.
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def daemons_s(node):
    """{pid: CPU seconds} of the cluster's processes that are in no job. v1:
    the cage has those of jobs, too."""
    return {pid: process_s(pid)
            for pid in content(f"{cage(node)}/cgroup.procs").split()
            if "/step_" not in content(f"/proc/{pid}/cgroup")}


def groups_s(groups):
    """CPU seconds of control groups (v1: of cpuacct)."""
    if UNIFIED:
        found = [content(f"{group}/cpu.stat").split() for group in groups]
        return sum(int(fields[1]) * 1e-6 for fields in found if fields)
    return sum(int(content(f"{group}/cpuacct.usage") or 0) * 1e-9
               for group in groups)


def jobs_s(node):
    """CPU seconds of the cluster's jobs, including ended ones."""
    return groups_s(slurm_trees(node, "cpuacct"))


def job_s(node, job):
    """CPU seconds of a running job."""
    return groups_s(job_tops(node, job) if UNIFIED else
                    [path for top in slurm_trees(node, "cpuacct")
                     for path in glob.glob(f"{top}/uid_*/job_{job}")])

"""Attacks by names: of threads, programs, folders and jobs."""

import itertools
import os
import pathlib
import shutil
import subprocess
import time

from hostile import agent
from hostile.attack import attack, reap, start, stop
from hostile.processes import set_name

# Terminal sequences, fields of /proc/PID/stat, quotes of JSON and HTML, paths.
NAMES = [b"\x1b[2J\x1b]0;owned\x07", b"a) R 1 1 1 (b", b"x\n\nPid:\t1\nUid:\t0",
         "\u540d\u524d\u202egnp".encode(), b"\xff\xfe\x80\xc0\xaf",
         b'","uid":0,"x":"', b"</script><b>", b"%s%n%x{}", b"-rf", b"--help",
         b"pst_loader", b"..", b"$(id)`id`", b" ", b"'\"\\"]


@attack("gives threads names with control characters, brackets and line ends",
        "names")
def thread_names(site):
    count = 0
    with agent.connect(site.sockets[0]) as channel:
        while site.goes_on():
            for name in NAMES:
                def live(name=name):
                    set_name(name)
                    agent.send(channel, agent.thread(os.getpid()))
                    time.sleep(0.3)
                start(live)
                count += 1
            time.sleep(0.2)
            reap()
    return count


@attack("starts programs with such names, arguments and environments",
        "programs")
def program_names(site):
    folder = os.path.join(site.home.encode(), b"programs")
    os.makedirs(folder, exist_ok=True)
    count = 0
    for name in itertools.cycle(NAMES):
        path = os.path.join(folder, b"_" + name.replace(b"/", b"_"))
        shutil.copy("/bin/sleep", path)
        long = name * (100_000 // len(name))
        pid = os.posix_spawn(path, [name, b"0.2", b"0"], {
            b"A": long, b"SLURM_JOB_ID": b"1", b"PENSTOCK_LOADER": name})
        count += 1
        time.sleep(0.02)
        # Most of these arguments are no numbers: sleep ends at once.
        pid_long = os.posix_spawn(path, [long, *[name] * 1000], {})
        count += 1
        os.waitpid(pid, 0), os.waitpid(pid_long, 0)
        os.unlink(path)
        if not site.goes_on():
            return count


@attack("works in a folder whose path is longer than the kernel can show",
        "folders")
def deep_folders(site):
    count = 0
    while site.goes_on():
        os.chdir(site.home)
        top = pathlib.Path(site.home, "deep")
        shutil.rmtree(top, ignore_errors=True)
        os.mkdir("deep")
        os.chdir("deep")
        for _ in range(40):  # 40 names of 240 bytes
            name = NAMES[count % len(NAMES)].replace(b"/", b"_")
            name = (name * 240)[:240]
            os.mkdir(name)
            os.chdir(name)
            count += 1
        pid = start(time.sleep, site.rest_s())
        with agent.connect(site.sockets[0]) as channel:
            agent.ask(channel, agent.thread(pid))
        time.sleep(min(0.2, site.rest_s()))
        stop(pid)
    os.chdir(site.home)
    shutil.rmtree("deep", ignore_errors=True)
    return count


@attack("starts steps of its job with such names and options", "steps")
def step_names(site):
    count = 0
    for name in itertools.cycle(NAMES[4:] + NAMES[:4]):
        for flag in (b"--loader-match=" + name, b"--loader-model=" + name):
            subprocess.run([b"srun", b"--overlap", b"-N1", b"-n1", b"--quiet",
                            b"--job-name=" + name, b"--loader=auto", flag,
                            b"true"], stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=60, check=False)
            count += 1
            if not site.goes_on():
                return count

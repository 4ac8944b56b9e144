"""Namespaces for a whole run: a network that no other process has, and a PID
namespace, which ends with its first process. So nothing is left of a run, in
whatever way it ends: ranks, network namespaces and devices go with it."""

import os
import signal
import subprocess
import sys

from bench.demo import ending
from bench.program import BenchError, need

INSIDE = "PENSTOCK_BENCH_EXCHANGE_CAGE"
PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux",
            "nsenter": "util-linux"}
# Files of MPI's: where they would be left behind otherwise.
SCRATCH = "/dev/shm"


def is_inside():
    return INSIDE in os.environ


def check():
    need(**PROGRAMS)
    if os.geteuid() != 0:
        raise BenchError("links of 1 and 10 Gb/s are network namespaces, which "
                         "need root; --parts selection,memory does not")


def rerun():
    """This program with its arguments, inside; returns its exit code."""
    command = ["unshare", "--net", "--ipc", "--mount", "--pid", "--fork",
               "--kill-child", "--mount-proc", sys.executable,
               *sys.orig_argv[1:]]
    child = subprocess.Popen(command, env={**os.environ, INSIDE: "1"},
                             preexec_fn=lambda: ending.signal_at_parents_end(
                                 signal.SIGKILL))
    try:
        code = child.wait()
    finally:
        child.kill()  # --kill-child: and all that is inside
        child.wait()
    return 128 - code if code < 0 else code


def settle():
    """To be called inside, once."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777,nosuid,nodev",
                    "scratch", SCRATCH], check=True)
    os.environ["TMPDIR"] = SCRATCH
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

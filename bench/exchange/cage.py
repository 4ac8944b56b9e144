"""Namespaces for a whole run: a private network, and a PID namespace that ends
with its first process. So ranks, network namespaces and devices end with the
run, however it ends."""

import os
import signal
import subprocess
import sys

from bench.demo import ending
from bench.program import BenchError, need

INSIDE = "PENSTOCK_BENCH_EXCHANGE_CAGE"
PROGRAMS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux",
            "nsenter": "util-linux"}
# Place of MPI's files that would otherwise remain.
SCRATCH = "/dev/shm"


def is_inside():
    return INSIDE in os.environ


def check():
    need(**PROGRAMS)
    if os.geteuid() != 0:
        raise BenchError("links of 1 and 10 Gb/s are network namespaces, which "
                         "need root; --parts selection,memory does not")


def rerun():
    """Runs this program with its arguments inside; returns its exit code."""
    command = ["unshare", "--net", "--ipc", "--mount", "--pid", "--fork",
               "--kill-child", "--mount-proc", sys.executable,
               *sys.orig_argv[1:]]
    child = subprocess.Popen(command, env={**os.environ, INSIDE: "1"},
                             preexec_fn=lambda: ending.signal_at_parents_end(
                                 signal.SIGKILL))
    try:
        code = child.wait()
    finally:
        child.kill()  # --kill-child: also all processes inside
        child.wait()
    return 128 - code if code < 0 else code


def settle():
    """Prepares the namespaces. Call it inside, once."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777,nosuid,nodev",
                    "scratch", SCRATCH], check=True)
    os.environ["TMPDIR"] = SCRATCH
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

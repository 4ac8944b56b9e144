"""Shared by the tests of job_submit_penstock.so: a reader of its datagrams,
demand tables, and a TestCase with a cluster whose slurmctld has loaded it."""

import os
import re
import socket
import struct
import subprocess
import time
from collections import namedtuple

import cluster_case
import embedded
import slurm_files

# select_ext/job_submit/submission.h
_LAYOUT = struct.Struct("=4I3Q10IQ64s64s64s32s4IQ6I256s64s72s2Q128I")
_NAMES = ("magic version size_bytes kind load_ns number sent_ns job_id uid gid "
          "managed nodes tasks_per_node gpus_per_node cpus_per_task "
          "time_limit_min loader_cpu loader_bw_mib_s job_name partition "
          "account gpu_type mode report_format threads threads_auto "
          "bw_bytes_per_s bw_auto batch weight_milli watch elastic "
          "option_reserved model match share "
          "hooks not_sent")
Submission = namedtuple("Submission", _NAMES)
SUBMITTED, MODIFIED = 1, 2
MIB = 1 << 20

GRES = (("loader_cpu", 4), ("loader_bw", 400))
SUBMIT_CONF = ("SubmitTable={directory}/run/demand_table",
               "SubmitSocket={directory}/run/submit.sock",
               "SubmitNodeCores=4", "SubmitNodeBandwidth=400M")


class Reader:
    """Binds the datagrams' socket; reads on request."""

    def __init__(self, path):
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)

    def close(self):
        if self._socket.fileno() >= 0:
            os.unlink(self._path)
            self._socket.close()

    def next(self, timeout=10):
        """The next datagram; fails if it does not arrive in time."""
        self._socket.settimeout(timeout)
        packet = self._socket.recv(4096)
        if len(packet) != _LAYOUT.size:
            raise AssertionError(f"a datagram of {len(packet)} bytes")
        fields = _LAYOUT.unpack(packet)[:len(Submission._fields)]
        return Submission(*(value.split(b"\0")[0].decode()
                            if isinstance(value, bytes) else value
                            for value in fields))

    def drain(self):
        """All datagrams that have arrived."""
        found = []
        while True:
            try:
                found.append(self.next(timeout=0.2))
            except TimeoutError:
                return found


class SubmitCase(cluster_case.ClusterCase):
    """The node has 4 loader_cpu and 400 loader_bw. Per GPU, res50 needs 1.5
    and 50 MiB/s, heavy 3 and 300, other models 1 and 20."""

    cluster_options = {"counted_gres": GRES, "submit": SUBMIT_CONF}
    models = ("res50:1500:52428800", "heavy:3000:314572800", ":1000:20971520")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The client must know the user's name.
        slurm_files.write(f"{cls.cluster.directory}/profiles/heavy.json", "{}")
        cls.publish()
        cls.cluster.restart_controller()

    @classmethod
    def publish(cls, *arguments, models=None):
        """Writes the table again, like penstockctld."""
        program = cls.cluster.build / "bin" / "write_demand_table"
        subprocess.run(
            [program, f"{cls.cluster.directory}/run/demand_table",
             *(f"--model={model}" for model in
               (cls.models if models is None else models)), *arguments],
            check=True, timeout=30)

    def setUp(self):
        super().setUp()
        self.reader = Reader(f"{self.cluster.directory}/run/submit.sock")
        self.addCleanup(self.reader.close)
        self.addCleanup(self.cancel_all)

    def cancel_all(self):
        self.cluster.command("scancel", "--signal=KILL", "--full", "--user",
                             self.cluster.user)
        self.cluster.command("scancel", "--user", self.cluster.user)
        self.cluster.wait_empty()

    def held(self, *flags, gpus=1, script="#!/bin/sh\n", **options):
        """Submits a held job; returns its id."""
        return self.cluster.sbatch(script, gpus=gpus,
                                   flags=["--hold", *flags], **options)

    def gres(self, job):
        """Fails unless each node of the job has {name: count}."""
        text = self.cluster.job(job).get("TresPerNode", "")
        found = {}
        for entry in filter(None, text.split(",")):
            name, _, count = re.sub("^gres[:/]", "", entry).partition(":")
            found[name] = int(count or 1)
        return found

    def log(self):
        return self.cluster.logs("slurmctld", lines=100000)

    def wait_for(self, what, condition, timeout=30):
        deadline = time.monotonic() + timeout * embedded.PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"waited {timeout} s for {what}"
                          + self.cluster.logs("slurmctld"))
            time.sleep(0.05)

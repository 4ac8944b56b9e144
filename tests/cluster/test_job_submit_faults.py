"""job_submit_penstock.so with missing or broken parts: jobs are submitted
anyway, and slurmctld survives."""

import os
import signal
import subprocess
import sys

import cluster_case
import submit_case
from submit_case import SubmitCase

# Binds the socket of argv[1]; reads only as many datagrams as its parent
# requests.
STOPPED_READER = """
import socket, sys
link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
link.bind(sys.argv[1])
print("bound", flush=True)
while True:
    link.recv(4096)
"""


class FaultCase(SubmitCase):
    def table(self):
        return f"{self.cluster.directory}/run/demand_table"

    def check_unchanged(self):
        """Submission works, and the job gets no GRES."""
        job = self.held("--loader-model=res50")
        self.assertEqual(self.gres(job), {"gpu": 1})

    def check_fed(self):
        job = self.held("--loader-model=res50")
        self.assertEqual(self.gres(job)["loader_cpu"], 2)


class Tables(FaultCase):
    def tearDown(self):
        super().tearDown()
        self.publish()

    def test_cut_short_under_a_running_slurmctld(self):
        pid = self.cluster.controller_pid
        os.truncate(self.table(), 0)
        before = self.log().count("demand table: cut short")
        self.check_unchanged()
        self.check_unchanged()
        self.assertEqual(self.log().count("demand table: cut short"),
                         before + 1)
        self.publish()
        self.check_fed()
        self.assertEqual(self.cluster.controller_pid, pid)

    def test_damaged(self):
        for offset, byte in ((0, b"x"), (8, b"\x07"), (20, b"\xff\xff\xff\xff"),
                             (40 + 2 * 136 + 64, b"\xff" * 8)):
            with self.subTest(offset):
                with open(self.table(), "r+b") as file:
                    file.seek(offset)
                    file.write(byte)
                    # A new sequence number, or the plugin would use its copy.
                    file.seek(16)
                    file.write(b"\x10\x20\x00\x00")
                self.check_unchanged()
                os.truncate(self.table(), 0)
                self.publish()
                self.check_fed()

    def test_half_written(self):
        with open(self.table(), "r+b") as file:
            file.seek(16)
            file.write(b"\x07\x00\x00\x00")
        self.check_unchanged()
        self.publish()
        self.check_fed()


class NoTable(FaultCase):
    def test_missing_and_untrusted(self):
        for make, said in (
                (lambda: os.unlink(self.table()), "cannot be opened"),
                (lambda: os.chmod(self.table(), 0o666), "writable by its group"),
                (lambda: os.chown(self.table(), 12345, 0),
                 "its owner is none of root, SlurmUser"),
                (lambda: os.truncate(self.table(), 17),
                 "not of a demand table's size")):
            with self.subTest(said):
                make()
                self.cluster.restart_controller()
                self.assertIn(said, self.log())
                self.check_unchanged()
                if os.path.exists(self.table()):
                    os.unlink(self.table())
                self.publish()
        self.cluster.restart_controller()
        self.check_fed()


class Configuration(FaultCase):
    def test_damaged_configuration(self):
        self.cluster.write_submit_conf(["SubmitOvercommit=0"])
        self.cluster.restart_controller()
        self.assertIn("SubmitOvercommit=0: not valid; allowed: a number from "
                      "0.1 to 100; jobs are submitted as without Penstock",
                      self.log())
        self.check_unchanged()
        # Nor are options checked.
        job = self.held(env={"PENSTOCK_LOADER_MATCH": "dali"})
        self.assertEqual(self.gres(job), {"gpu": 1})

    def test_no_configuration(self):
        os.unlink(f"{self.cluster.directory}/penstock.conf")
        self.cluster.restart_controller()
        self.check_unchanged()
        self.assertEqual(self.log().count("demand table"), 0)


class Readers(FaultCase):
    def test_nobody_reads(self):
        self.reader.close()
        self.check_fed()
        again = submit_case.Reader(f"{self.cluster.directory}/run/submit.sock")
        self.addCleanup(again.close)
        self.held()
        told = again.next()
        self.held()
        self.assertGreaterEqual(again.next().not_sent, 1)
        self.assertGreaterEqual(told.not_sent, 1)

    def test_a_stopped_reader_delays_nothing(self):
        self.held()
        before = self.reader.next()
        self.reader.close()
        with subprocess.Popen(
                [sys.executable, "-c", STOPPED_READER,
                 f"{self.cluster.directory}/run/submit.sock"],
                stdout=subprocess.PIPE, text=True) as stopped:
            self.addCleanup(stopped.kill)
            self.assertEqual(stopped.stdout.readline(), "bound\n")
            stopped.send_signal(signal.SIGSTOP)
            depth = int(open("/proc/sys/net/unix/max_dgram_qlen",
                             encoding="ascii").read())
            submitted = depth + 20
            for _ in range(submitted):
                self.held()
            stopped.kill()
        os.unlink(f"{self.cluster.directory}/run/submit.sock")
        again = submit_case.Reader(f"{self.cluster.directory}/run/submit.sock")
        self.addCleanup(again.close)
        self.held()
        told = again.next()
        # Datagrams that the queue accepted were sent.
        self.assertEqual(told.number - before.number, submitted + 1)
        self.assertGreaterEqual(told.not_sent - before.not_sent, 15)
        self.assertEqual(told.hooks - before.hooks, submitted + 1)


if __name__ == "__main__":
    cluster_case.main()

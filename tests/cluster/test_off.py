"""penstock off and on: all resources are Slurm's again at once, and jobs
continue. This state persists across restarts until penstock on."""

import os
import pathlib
import re
import signal
import unittest

import agent_case
import embedded
import hierarchy

# Sends penstockd, as this job's user, a request to switch the node off.
ASK_OFF = """
import os, socket, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ["PENSTOCK_SOCKET"])
s.send(struct.pack("=IHHIIII", 0x54534E50, 1, 9, 24, 1, 1, 0))
print(struct.unpack_from("=i", s.recv(1024), 16)[0])
"""


@unittest.skipIf(os.cpu_count() < 2, "SKIPPED: one CPU")
class Off(agent_case.AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.penstock = cls.cluster.expose(cls.cluster.build / "bin/penstock")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.switch, "on")
        self.addCleanup(lambda: "penstockd" in self.cluster._daemons
                        or self.cluster.start_agent())

    def switch(self, word, user=None):
        """Runs `penstock off` or `on`; its CompletedProcess."""
        return self.cluster.command(
            self.penstock, word, "--config",
            f"{self.cluster.directory}/penstock.conf", user=user, timeout=30)

    def switch_off(self, jobs=None):
        done = self.switch("off")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = re.fullmatch(r"off since .* UTC: (\d+) jobs? brought home\n",
                             done.stdout)
        self.assertTrue(found, done.stdout)
        # On an emulated machine loans start and end by themselves.
        if jobs == 0 or jobs is not None and embedded.PATIENCE == 1:
            self.assertEqual(int(found[1]), jobs)

    def check_slurms(self, *jobs):
        """No group or change of ours exists now."""
        self.assertEqual(self.cluster.penstock_cgroups(), [])
        for job in jobs:
            self.assertEqual(self.away_threads(job), [])
            self.assertEqual(hierarchy.changes(self.cluster.node, job), [])

    def masks(self, job):
        """The affinity masks of the job's own threads."""
        found = set()
        for tid in hierarchy.job_threads(self.cluster.node, job):
            try:
                text = pathlib.Path(f"/proc/{tid}/status").read_text("utf-8")
            except OSError:
                continue
            if re.search(r"^Uid:\t0\t", text, re.M) is None:
                found.add(re.search(r"^Cpus_allowed_list:\t(.*)$", text,
                                    re.M)[1])
        return found

    def test_all_is_home_when_off_answers_and_lent_again_after_on(self):
        lender, borrower = self.lend("A")
        self.switch_off(1)
        self.check_slurms(lender, borrower)
        self.assertGreater(self.rate("borrowerA", 2), 0)
        self.check_slurms(lender, borrower)  # and it remains so
        self.assertEqual(len(self.cluster.squeue()), 2)
        self.switch_off(0)  # again: no thread is left to bring home
        status = self.cluster.status()
        self.assertIsNotNone(status["off_since_unix_s"])
        self.assertIn("off since", self.cluster.command(
            self.penstock, "top", "--socket",
            self.cluster.socket_path).stdout)
        done = self.switch("on")
        self.assertEqual((done.returncode, done.stdout),
                         (0, "on: 2 managed jobs here\n"))
        self.assertIsNone(self.cluster.status()["off_since_unix_s"])
        self.wait_lent_again(lender, borrower)
        causes = [change["cause"]
                  for change in self.cluster.status(borrower)["changes"]]
        # On an emulated machine the lender is measured to need more than it
        # has, and may have its CPU back by then: the switch changes nothing.
        if embedded.PATIENCE == 1:
            self.assertIn("switched_off", causes)
            self.assertIn("switched_on", causes)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_off_survives_a_restart_and_kill(self):
        lender, borrower = self.lend("R")
        self.switch_off(1)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.cluster.stop_agent(number)
            self.cluster.start_agent()
            self.assertIsNotNone(self.cluster.status()["off_since_unix_s"])
            self.assertIn("off since", self.cluster.logs("penstockd"))
            self.assertGreater(self.rate("borrowerR", 2), 0)
            self.check_slurms(lender, borrower)
        self.assertEqual(self.switch("on").returncode, 0)
        self.wait_lent_again(lender, borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_jobs_that_start_on_a_node_that_is_off(self):
        self.switch_off()
        lender = self.submit("lenderN", 1 / 3)
        borrower = self.submit("borrowerN", 4)
        self.assertGreater(self.rate("borrowerN", 2), 0)
        self.check_slurms(lender, borrower)
        report = self.cluster.status(borrower)
        self.assertTrue(any("switched off" in note
                            for note in report["notes"]), report["notes"])
        self.assertEqual(self.switch("on").returncode, 0)
        self.wait_lent_again(lender, borrower)
        self.cluster.cancel(lender, borrower)
        self.check_nothing_left()

    def test_masks_are_slurms_again(self):
        job = self.submit("apart", 1 / 3, cpus=2, gpus=0,
                          flags=["--loader-threads=1"])
        self.wait("loader and trainer to be apart",
                  lambda: self.masks(job) == {"0", "1"}, 15)
        self.switch_off(1)
        self.assertEqual(self.masks(job), {"0-1"})
        self.assertGreater(self.rate("apart", 2), 0)
        self.assertEqual(self.masks(job), {"0-1"})
        self.assertEqual(self.switch("on").returncode, 0)
        self.wait("them to be apart again",
                  lambda: self.masks(job) == {"0", "1"}, 15)
        self.cluster.cancel(job)
        self.check_nothing_left()

    def io_limits(self, job):
        """The kernel's limits on the job's reads."""
        if hierarchy.UNIFIED:
            path = f"{hierarchy.job_dir(self.cluster.node, job)}/io.max"
        else:
            path = (f"{hierarchy.ROOT}/blkio/penstock_{self.cluster.node}/"
                    f"job_{job}/blkio.throttle.read_bps_device")
        try:
            return pathlib.Path(path).read_text("ascii").strip()
        except FileNotFoundError:
            return ""

    def test_io_limits_are_gone(self):
        device = os.stat(self.cluster.directory).st_dev
        if not os.path.exists(f"/sys/dev/block/{os.major(device)}:"
                              f"{os.minor(device)}"):
            self.skipTest("/tmp is on no block device")
        self.cluster.stop_agent()
        self.cluster.start_agent(
            pools=[("disk", self.cluster.directory, "40M")])
        try:
            job = self.submit("reader", 1 / 3)
            self.wait("a limit", lambda: self.io_limits(job))
            self.switch_off(1)
            self.assertEqual(self.io_limits(job), "")
            self.assertGreater(self.rate("reader", 2), 0)
            self.assertEqual(self.io_limits(job), "")
            self.assertEqual(self.switch("on").returncode, 0)
            self.wait("the limit again", lambda: self.io_limits(job))
            self.cluster.cancel(job)
            self.check_nothing_left()
        finally:
            self.cluster.stop_agent()
            self.cluster.start_agent(pools=())

    def test_without_penstockd_the_next_one_is_off(self):
        self.cluster.stop_agent()
        done = self.switch("off")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("penstockd does not run", done.stdout)
        self.cluster.start_agent()
        self.assertIsNotNone(self.cluster.status()["off_since_unix_s"])
        self.cluster.stop_agent()
        self.assertIn("when it starts it is on", self.switch("on").stdout)
        self.cluster.start_agent()
        self.assertIsNone(self.cluster.status()["off_since_unix_s"])

    def test_only_root_may(self):
        done = self.switch("off", self.cluster.user)
        self.assertEqual(done.returncode, 3)
        self.assertIn("only root may", done.stderr)
        script = pathlib.Path(self.cluster.home(), "ask_off.py")
        script.write_text(ASK_OFF, "utf-8")
        asked = self.cluster.command("/usr/bin/python3", str(script),
                                     user=self.cluster.user)
        self.assertEqual(asked.stdout, "1\n", asked.stderr)  # EPERM
        self.assertIsNone(self.cluster.status()["off_since_unix_s"])


if __name__ == "__main__":
    agent_case.main()

"""The cage: nodes with limited links, removed however a run ends."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import unittest
from unittest import mock

from bench.exchange import cage

# On a node: its limit, and a refused connection to the other node.
SHOW = """tc qdisc show
python3 -c "import socket; socket.create_connection(('10.78.0.2', 9), 5)" \\
    2>&1 | grep -o ConnectionRefusedError"""
# A run that makes two nodes, prints their folder and waits.
RUN = f"SHOW = {SHOW!r}" + textwrap.dedent("""
    import subprocess, sys, tempfile, time
    from bench.exchange import cage, network
    from bench.demo import ending
    ending.by_exceptions()
    ending.with_parent()
    if not cage.is_inside():
        cage.check()
        sys.exit(cage.rerun())
    cage.settle()
    with tempfile.TemporaryDirectory() as folder:
        with network.Network(folder, 2, network.LINKS["1g"]) as nodes:
            agent = nodes.environment["OMPI_MCA_plm_rsh_agent"]
            if sys.argv[1] == "show":
                subprocess.run(["tc", "qdisc", "show"], check=True)
                subprocess.run([agent, nodes.addresses[0], SHOW], check=True)
            if sys.argv[1] == "wait":
                print("made", folder, flush=True)
                time.sleep(100)
        names = subprocess.run(["ip", "-o", "link"], text=True,
                               capture_output=True, check=True).stdout
        print("left", "port0" in names or "br0" in names, flush=True)
""")


def why_not():
    try:
        cage.check()
    except cage.BenchError as error:
        return str(error)
    done = subprocess.run(["unshare", "--net", "--pid", "--fork", "true"],
                          capture_output=True, check=False)
    return "no network namespaces here" if done.returncode else ""


def started(word):
    return subprocess.Popen([sys.executable, "-B", "-c", RUN, word], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def descendants(pid):
    """The pids of all processes below one."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text("ascii").split()):
            found += [child, *descendants(child)]
    return found


@unittest.skipIf(why_not(), why_not())
class Made(unittest.TestCase):

    def test_links_are_limited_both_ways_and_removed(self):
        process = started("show")
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, output)
        for device in ("port0", "port1", "eth0"):
            self.assertRegex(output, f"tbf .* dev {device} .* rate 1Gbit")
        self.assertIn("ConnectionRefusedError", output)
        self.assertIn("left False", output)

    def check_nothing_is_left(self, number):
        process = started("wait")
        line = process.stdout.readline().split()
        self.assertEqual(line[:1], ["made"])
        below = descendants(process.pid)
        self.assertGreater(len(below), 3)
        process.send_signal(number)
        process.wait(20)
        process.stdout.close()
        end = time.monotonic() + 20
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in below):
            self.assertLess(time.monotonic(), end, "processes are left")
            time.sleep(0.05)
        self.assertFalse(os.path.exists(line[1]))

    def test_ctrl_c_leaves_no_process_and_no_file(self):
        self.check_nothing_is_left(signal.SIGINT)

    def test_kill_9_leaves_no_process_and_no_file(self):
        self.check_nothing_is_left(signal.SIGKILL)


class Missing(unittest.TestCase):

    def test_without_root_the_error_names_the_parts_that_need_none(self):
        with mock.patch.object(os, "geteuid", return_value=1000), \
                mock.patch.object(shutil, "which", return_value="/bin/it"):
            with self.assertRaisesRegex(cage.BenchError,
                                        "--parts selection,memory"):
                cage.check()

    def test_without_iproute2_the_error_names_it(self):
        with mock.patch.object(shutil, "which", return_value=None):
            with self.assertRaisesRegex(cage.BenchError, "install iproute2"):
                cage.check()


if __name__ == "__main__":
    unittest.main()

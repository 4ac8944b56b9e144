"""A benchmark's script ends together with the process that started it."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SCRIPT = """
import time
from bench.demo import ending
def measure():
    try:
        print("measuring", flush=True)
        time.sleep(60)
    finally:
        print("removed", flush=True)
ending.print_figures("test", (), measure)
"""
PARENT = """
import subprocess, sys
script = subprocess.Popen([sys.executable, "-B", "-c", sys.argv[1]])
print(script.pid, flush=True)
script.wait()
"""


class BenchEnding(unittest.TestCase):
    def test_a_killed_parent_takes_the_script_along(self):
        parent = subprocess.Popen(
            [sys.executable, "-B", "-c", PARENT, SCRIPT],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)})
        self.addCleanup(parent.stdout.close)
        script = int(parent.stdout.readline())
        self.addCleanup(self.end, script)
        self.assertEqual(parent.stdout.readline(), "measuring\n")
        parent.kill()
        parent.wait(10)
        # Blocks until the script ends, which closes the pipe.
        self.assertEqual(parent.stdout.read(), "removed\n")

    @staticmethod
    def end(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    unittest.main()

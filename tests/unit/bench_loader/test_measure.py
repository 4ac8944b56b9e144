"""CPU time of a program and its children, and figures from it."""

import os
import sys
import unittest

from bench.loader import __main__ as bench
from bench.loader import measure
from bench.loader.pixels import Difference

# A loop whose child computes for half a second of CPU time, once "begin" has
# been read from the pipe.
BUSY = """
import fcntl, os, struct, sys, termios, time
print("something else")
print("begin", flush=True)
while struct.unpack("i", fcntl.ioctl(1, termios.FIONREAD, bytes(4)))[0]:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    while time.process_time() < 0.5:
        pass
    time.sleep(60)
while sum(map(int, open(f"/proc/{child}/stat").read().split()[13:15])) < 45:
    time.sleep(0.01)
print("end 50", flush=True)
sys.stdin.read()
"""


def run(text):
    return measure.measure([sys.executable, "-c", text], dict(os.environ))


class Measure(unittest.TestCase):
    def test_program_names_in_stat_may_have_any_characters(self):
        text = "7 (a) R 9 (b)) S 3 7 7 0 -1 4194304 1 0 0 0 250 50 0 0 20\n"
        parent, seconds = measure.parse_stat(text)
        self.assertEqual(parent, 3)
        self.assertAlmostEqual(seconds, 300 * measure.TICK_S)

    def test_the_cpu_time_of_children_counts(self):
        found = run(BUSY)
        self.assertEqual(found.images, 50)
        self.assertGreater(found.cpu_s, 0.1)
        self.assertLess(found.cpu_s, found.wall_s + 0.1)
        self.assertAlmostEqual(found.per_cpu_s, 50 / found.cpu_s)

    def test_the_error_of_a_failed_program_has_its_message(self):
        with self.assertRaisesRegex(measure.BenchError, "no such loader"):
            run("import sys; sys.exit('no such loader')")
        with self.assertRaisesRegex(measure.BenchError, "without a result"):
            run("print('begin')")

    def test_a_program_without_images_is_an_error(self):
        with self.assertRaisesRegex(measure.BenchError, "nothing"):
            run("print('begin\\nend 0', flush=True); input()")

    def test_a_hanging_program_is_ended_at_the_limit(self):
        self.addCleanup(setattr, measure, "LIMIT_S", measure.LIMIT_S)
        measure.LIMIT_S = 0.5
        with self.assertRaisesRegex(measure.BenchError, "took over 0.5 s"):
            run("import time; print('begin', flush=True); time.sleep(60)")


def measured(rate):
    return measure.Measured(int(rate * 2), 2.0, 1.0)


class Figures(unittest.TestCase):
    def test_ratios_compare_runs_of_the_same_round(self):
        rounds = [{"penstock": measured(400), "pytorch": measured(100)},
                  {"penstock": measured(300), "pytorch": measured(100)},
                  {"pytorch": measured(10), "penstock": measured(20)}]
        found = {it["name"]: it for it in bench.rate_figures(rounds)}
        self.assertEqual(sorted(found), ["penstock_images_per_cpu_s",
                                         "pytorch_images_per_cpu_s",
                                         "vs_pytorch"])
        self.assertEqual(found["vs_pytorch"]["value"], 3)
        self.assertEqual(found["vs_pytorch"]["spread"], 1)
        self.assertEqual(found["vs_pytorch"]["runs"], 3)
        self.assertEqual(found["penstock_images_per_cpu_s"]["value"], 300)

    def test_pixel_figures_have_the_worst_crop_and_the_median(self):
        found = {it["name"]: it["value"] for it in bench.pixel_figures(
            [Difference(0.5, 3), Difference(1.5, 2), Difference(0.7, 9)])}
        self.assertEqual(found, {"pixel_mean_worst": 1.5, "pixel_mean": 0.7,
                                 "pixel_p99_worst": 9, "pixel_p99": 3})


class FakeProgress:
    def phase(self, text):
        pass

    live = say = phase


class FakePrograms:
    """Fake peers that write a result, or fail in their second run."""

    def __init__(self):
        self._runs = {}

    def command(self, peer, *_):
        self._runs[peer.name] = self._runs.get(peer.name, 0) + 1
        if peer.name == "ffcv" and self._runs[peer.name] == 2:
            return [sys.executable, "-c", "import sys; sys.exit('it broke')"]
        return [sys.executable, "-c",
                "import time\nprint('begin', flush=True)\n"
                "until = time.process_time() + 0.3\n"
                "while time.process_time() < until: pass\n"
                "print('end 9', flush=True); input()"]


class Rounds(unittest.TestCase):
    def test_a_failed_peer_is_missing_and_the_others_continue(self):
        found = [peer for peer in bench.peers.PEERS
                 if peer.name in ("penstock", "ffcv", "opencv")]
        missing = {}
        rounds = bench.Rounds(FakePrograms(), {it.name: "" for it in found},
                              FakeProgress(), missing)
        out = rounds.run_all(found, 3)
        self.assertEqual([sorted(it) for it in out],
                         3 * [["opencv", "penstock"]])
        self.assertEqual(missing, {"ffcv": "FFCV from JPEG: it broke"})


if __name__ == "__main__":
    unittest.main()

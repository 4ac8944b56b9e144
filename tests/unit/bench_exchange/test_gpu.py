"""Comparisons of a GPU's selection, from the program's output."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from bench.exchange import __main__ as bench

ROUND = {"memcpy_s": 1e-4, "accumulate_s": 2e-4, "exact_s": 1e-5,
         "select_s": 9e-5, "to_host_s": 3e-4, "sort_s": 1e-3,
         "taken_share": 1.0, "exact_steps": 1}


class Said:
    def __init__(self):
        self.lines = []

    def phase(self, text):
        self.lines.append(text)

    say = phase


class GpuSelection(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.said = Said()

    def measure(self):
        return bench.gpu_selection(self.build, 2, self.said)

    def put_program(self, status, *lines):
        (self.build / "bin").mkdir()
        program = self.build / "bin" / "penstock-gpu-select-bench"
        program.write_text("#!/bin/sh\ncat <<'END'\n" +
                           "\n".join(map(json.dumps, lines)) +
                           f"\nEND\nexit {status}\n", "utf-8")
        program.chmod(0o755)

    def test_passes_are_compared_with_a_copy_and_a_sort(self):
        self.put_program(0, {"gpu": "Some GPU"}, ROUND, ROUND)
        vs_memcpy, vs_sort = self.measure()
        self.assertEqual(vs_memcpy["name"], "gpu_selection_vs_memcpy")
        self.assertAlmostEqual(vs_memcpy["value"], 1 / 3)
        # A sort needs the accumulated residual, too.
        self.assertAlmostEqual(vs_sort["value"], 10)
        self.assertIn("  Some GPU", self.said.lines)
        self.assertIn("memcpy 100 us, accumulating 200, selecting 90 (300",
                      self.said.lines[-1])

    def test_without_a_gpu_a_message_replaces_the_figures(self):
        self.put_program(bench.NO_GPU)
        self.assertEqual(self.measure(), [])
        self.assertEqual(self.said.lines[-1], "  not measured: there is none")

    def test_without_nvcc_a_message_replaces_the_figures(self):
        self.assertEqual(self.measure(), [])
        self.assertIn("there was no nvcc", self.said.lines[-1])

    def test_a_failed_program_is_an_error(self):
        self.put_program(1)
        with self.assertRaises(subprocess.CalledProcessError):
            self.measure()


if __name__ == "__main__":
    unittest.main()

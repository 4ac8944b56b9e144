"""Steps: queries of what-if, and comparisons of its predictions."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from bench.exchange import __main__ as bench
from bench.exchange import ranks, steps

BUILD = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"])
COSTS = {"message_s": 0, "byte_s": 8e-9, "add_s": 0, "select_s": 0,
         "record_s": 0}


def step(predicted_s, *seconds):
    return steps.Step("1g", 0.2, 0.01, "two-phase", predicted_s, list(seconds))


class Steps(unittest.TestCase):

    def test_a_steps_time_is_the_median_of_its_rounds(self):
        self.assertEqual(step(3, 1, 9, 2).ratio, 1.5)

    def test_the_worst_ratio_is_the_furthest_from_one_on_either_side(self):
        self.assertEqual(steps.worst([step(1.2, 1), step(0.5, 1)]), 0.5)
        self.assertEqual(steps.worst([step(1.5, 1), step(0.9, 1)]), 1.5)

    def test_the_figure_is_the_worst_ratio(self):
        found = bench.step_figure([step(1.2, 1), step(0.5, 1)])
        self.assertEqual((found["name"], found["value"], found["runs"]),
                         ("predicted_vs_step", 0.5, 2))

    def test_a_line_shows_the_measured_and_the_predicted_time(self):
        self.assertEqual(
            step(0.3, 0.2, 0.25, 0.4).text(),
            "    1g 4 ranks   1.0% a step takes  200 +   50.0 ms, predicted "
            "+  100.0: 1.20 two-phase")

    def test_what_if_predicts_the_layers_of_the_benchmark(self):
        """4 layers of 25 MiB; 3 of 4 ranks' parts of them pass a link twice. The
        last layer is ready when all is computed, or when those before are done.
        """
        with tempfile.TemporaryDirectory() as folder:
            costs_file = pathlib.Path(folder, "costs.json")
            costs_file.write_text(json.dumps(COSTS), "utf-8")
            found = steps.predicted(BUILD,
                                    pathlib.Path(folder), costs_file, 0.3)
        self.assertEqual(set(found), set(steps.DENSITIES))
        layer_s = 2 * 0.75 * 25 * 2**20 * 8e-9
        dense, sparse = found[1]["step"], found[0.01]["step"]
        self.assertEqual(dense["method"], "dense")
        self.assertAlmostEqual(dense["step_s"], 0.1 + 0.05 + 4 * layer_s)
        self.assertEqual(sparse["method"], "two-phase")
        self.assertAlmostEqual(sparse["step_s"],
                               0.3 + 2 * 1.25 * 0.01 * layer_s)

    def test_rounds_are_sorted_by_density(self):
        class Program:
            def lines(self, *words):
                self.words = words
                yield {"density": 0.01, "round": 0}
                yield {"density": 0.01, "round": 1}
                yield {"density": 1, "round": 0}
        program = Program()
        found = steps.measured(program, "costs", 0.2, 2)
        self.assertEqual({density: [one["round"] for one in lines]
                          for density, lines in found.items()},
                         {0.01: [0, 1], 0.1: [], 1: [0]})
        self.assertEqual(program.words[program.words.index("--rounds") + 1], 2)

    def test_a_step_by_another_method_than_predicted_is_an_error(self):
        row = {"density": 0.1, "step": {"method": "two-phase", "step_s": 2}}
        rounds = [{"method": "two_phase", "step_s": 1}] * 3
        self.assertEqual(steps.compare("1g", 0.2, row, rounds).ratio, 2)
        with self.assertRaisesRegex(ranks.BenchError, "by dense, what-if says two"):
            steps.compare("1g", 0.2, row, [{"method": "dense", "step_s": 1}])


class Program(unittest.TestCase):
    """penstock-exchange-bench step, over the ranks of this machine."""

    def setUp(self):
        self.program = pathlib.Path(BUILD, "bin",
                                    "penstock-exchange-bench")
        if not self.program.exists():
            self.skipTest("built without MPI")
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun")

    def test_a_step_takes_at_least_its_computing_time(self):
        with tempfile.TemporaryDirectory() as folder:
            costs_file = pathlib.Path(folder, "costs.json")
            costs_file.write_text(json.dumps(COSTS), "utf-8")
            found = steps.measured(
                ranks.Ranks(BUILD, 2),
                costs_file, 0.3, 2, elements=2**14)
        for density, rounds in found.items():
            self.assertEqual([one["round"] for one in rounds], [0, 1], density)
            for one in rounds:
                self.assertGreaterEqual(one["step_s"], 0.3)
                self.assertEqual(one["method"] == "dense", density == 1)

    def test_errors_name_the_wrong_argument(self):
        for words, wrong in {
                ("step", "--costs", "/nowhere"): "/nowhere: No such file",
                ("step",): "--costs is required",
                ("step", "--costs", "/nowhere", "--compute-s", "-1"):
                    "-1 not in range",
                ("walk",): "subcommand is required"}.items():
            done = subprocess.run([self.program, *words], text=True,
                                  capture_output=True, check=False, timeout=60)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(wrong, done.stderr)


if __name__ == "__main__":
    unittest.main()

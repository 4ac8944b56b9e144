"""Cells: comparisons of the automatic choice with the methods."""

import unittest

from bench.exchange import __main__ as bench
from bench.exchange import cells


def cell(*rounds, link="1g", ranks=4, density=0.01):
    """rounds: seconds of dense, allgather, two_phase and auto."""
    return cells.Cell(link, ranks, density, [
        {**{f"{way}_s": seconds for way, seconds in zip(cells.WAYS, one)},
         "auto": "two_phase"} for one in rounds])


class Cells(unittest.TestCase):

    def test_the_better_method_has_the_better_median(self):
        found = cell((1, 2, 1, 1), (1, 2, 1, 1), (9, 2, 1, 1))
        self.assertEqual(found.best_other, "dense")
        self.assertEqual(found.gains("dense"), [1, 1, 9])

    def test_our_own_method_is_not_among_the_others(self):
        self.assertEqual(cell((4, 3, 1, 3)).best_other, "allgather")

    def test_an_interval_of_eleven_rounds_excludes_both_ends(self):
        rounds = [(gain, 100, 1, 1) for gain in range(1, 12)]
        self.assertEqual(cell(*rounds).interval, (2, 10))

    def test_the_worst_cell_has_the_lowest_upper_bound(self):
        good, bad = cell((2, 3, 1, 1)), cell((1, 3, 1, 2), (1, 3, 1, 4))
        self.assertEqual(cells.worst([good, bad]), 0.5)

    def test_a_line_shows_times_gain_and_chosen_method(self):
        text = cell((0.8, 0.04, 0.02, 0.025)).text()
        self.assertIn("1g 4 ranks   1.0%", text)
        self.assertIn("800.0      40.0      20.0      25.0 ms", text)
        self.assertTrue(text.endswith("1.60 [1.60, 1.60] two_phase"))

    def test_the_models_error_is_the_median_error(self):
        rows = [{"model_s": model, "seconds": 1} for model in (0.9, 1.3, 5)]
        self.assertAlmostEqual(cells.fit_error({"measured": rows}), 0.3)


class Figures(unittest.TestCase):

    def test_vs_dense_1g_is_from_the_cell_of_four_ranks_and_one_percent(self):
        found = [cell((8, 3, 1, 1), density=0.1), cell((12, 3, 1, 1))]
        figures = {one["name"]: one["value"]
                   for one in bench.cell_figures(found)}
        self.assertEqual(figures, {"vs_dense_1g": 12, "worst_vs_best": 3})

    def test_a_run_without_that_cell_has_no_such_figure(self):
        figures = bench.cell_figures([cell((8, 3, 1, 1), link="memory")])
        self.assertEqual([one["name"] for one in figures], ["worst_vs_best"])


if __name__ == "__main__":
    unittest.main()

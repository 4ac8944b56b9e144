import statistics
import unittest

from bench.demo import figures
from bench.demo.figures import SetRun


def runs_of(rounds):
    """rounds: per round {regime: rates per set}."""
    return [SetRun(set_index, round_index, regime, tuple(rates))
            for round_index, regimes in enumerate(rounds)
            for regime, sets in regimes.items()
            for set_index, rates in enumerate(sets)]


CEILINGS = [(100.0, 400.0), (10.0, 400.0)]
ROUND = {
    "stock": [(100.0, 100.0), (10.0, 100.0)],    # 1.25 + 1.25
    "even": [(100.0, 100.0), (5.0, 100.0)],      # 1.25 + 0.75
    "penstock": [(98.0, 168.0), (10.0, 190.0)],  # 1.40 + 1.475
}


class Gains(unittest.TestCase):
    def test_aggregate_sums_each_jobs_share_of_its_ceiling(self):
        self.assertAlmostEqual(figures.aggregate((50, 100), (100, 400)), 0.75)

    def test_gain_is_penstock_over_the_baseline_per_round(self):
        runs = runs_of([ROUND, ROUND])
        self.assertEqual(len(figures.gains(runs, CEILINGS, "even")), 2)
        self.assertAlmostEqual(figures.gains(runs, CEILINGS, "even")[0],
                               2.875 / 2.0)
        self.assertAlmostEqual(figures.gains(runs, CEILINGS, "stock")[1],
                               2.875 / 2.5)

    def test_a_round_without_a_set_is_excluded(self):
        runs = [run for run in runs_of([ROUND, ROUND])
                if (run.round_index, run.regime, run.set_index)
                != (1, "even", 0)]
        self.assertEqual(len(figures.gains(runs, CEILINGS, "even")), 1)

    def test_gains_of_the_optimum_and_ratios_to_it_use_all_sets(self):
        runs = runs_of([ROUND])
        self.assertAlmostEqual(
            figures.optimum_gains(runs, CEILINGS, [[1.42, 1.48]])[0], 2.9 / 2.5)
        self.assertAlmostEqual(
            figures.ratios_to_optimum(runs, CEILINGS, [[1.42, 1.48]])[0],
            2.875 / 2.9)

    def test_each_round_has_its_own_optimum(self):
        optima = [[1.42, 1.48], [1.2, 1.3]]
        self.assertAlmostEqual(
            figures.optimum_gains(runs_of([ROUND, ROUND]), CEILINGS,
                                  optima)[1], 2.5 / 2.5)


class WorstJob(unittest.TestCase):
    @staticmethod
    def baseline(set_index, job):
        return "even" if (set_index, job) == (1, 0) else "stock"

    def test_the_worst_job_has_the_lowest_median_ratio(self):
        rounds = [{"stock": [(100.0, 100.0), (10.0, 100.0)],
                   "even": [(100.0, 100.0), (5.0, 100.0)],
                   "penstock": [(value, 150.0), (10.0, 150.0)]}
                  for value in (50.0, 96.0, 101.0)]
        ratios = figures.paired_ratios(runs_of(rounds), self.baseline)
        self.assertEqual(ratios[(0, 0)], [0.5, 0.96, 1.01])
        self.assertEqual(ratios[(1, 0)], [2.0, 2.0, 2.0])
        figure = figures.worst_job_figure(runs_of(rounds), self.baseline)
        self.assertAlmostEqual(figure.value, 0.96)
        self.assertFalse(figure.passed)
        self.assertEqual(figure.runs, 3)
        self.assertLessEqual(figure.spread[0], 0.96)

    def test_one_round_has_no_interval(self):
        figure = figures.worst_job_figure(runs_of([ROUND]), self.baseline)
        self.assertIsNone(figure.spread)
        self.assertAlmostEqual(figure.value, 0.98)
        self.assertTrue(figure.passed)


class Bootstrap(unittest.TestCase):
    def test_the_interval_is_repeatable_and_holds_the_median(self):
        samples = {"a": [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02]}

        def median(drawn):
            return statistics.median(drawn["a"])

        low, high = figures.bootstrap_interval(median, samples)
        self.assertEqual((low, high),
                         figures.bootstrap_interval(median, samples))
        self.assertTrue(0.9 <= low < 1.0 < high <= 1.1 or low <= 1.0 <= high)
        self.assertLess(high - low, 0.2)

    def test_two_values_give_no_interval(self):
        self.assertIsNone(figures.bootstrap_interval(len, {"a": [1, 2]}))

    def test_percentiles_are_interpolated(self):
        self.assertAlmostEqual(figures.percentile([0.0, 10.0], 25), 2.5)
        self.assertEqual(figures.percentile([3.0], 97.5), 3.0)

    def test_the_median_difference_of_pairs_has_an_interval(self):
        value, interval = figures.median_difference(
            [(10.0, 12.0), (20.0, 23.0), (15.0, 16.0)])
        self.assertEqual(value, 2.0)
        self.assertLessEqual(interval[0], 2.0)
        self.assertGreaterEqual(interval[1], 2.0)


class Judging(unittest.TestCase):
    def test_the_median_determines_whether_a_target_is_met(self):
        figure = figures.at_least("aggregate_gain", [1.2, 1.3, 1.4], 1.29)
        self.assertEqual((figure.value, figure.spread, figure.runs),
                         (1.3, (1.2, 1.4), 3))
        self.assertTrue(figure.passed)
        self.assertFalse(figures.at_most("x", [0.91], 0.90).passed)

    def test_a_figure_without_measurements_neither_passes_nor_misses(self):
        figure = figures.at_least("aggregate_gain", [], 1.29)
        self.assertIsNone(figure.value)
        self.assertIsNone(figure.passed)

    def test_errors_take_the_worst_job(self):
        errors = [figures.prediction_error(90, 100), None,
                  figures.prediction_error(104, 100)]
        figure = figures.worst_error_figure("ceiling_error_arrival", errors,
                                            0.10)
        self.assertAlmostEqual(figure.value, 0.10)
        self.assertTrue(figures.worst_error_figure(
            "e", [0.1, 0.02], 0.10).passed)
        self.assertFalse(figures.worst_error_figure(
            "e", [0.11, 0.02], 0.10).passed)
        self.assertIsNone(figures.prediction_error(None, 100))

    def test_latencies_take_the_worst_daemon(self):
        figure = figures.worst_latency_figure("recall_p99_ms", [20.0, 130.0],
                                              400, 100)
        self.assertEqual((figure.value, figure.runs, figure.passed),
                         (130.0, 400, False))
        self.assertIsNone(
            figures.worst_latency_figure("r", [], 0, 100).passed)


if __name__ == "__main__":
    unittest.main()

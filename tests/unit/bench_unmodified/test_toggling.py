import importlib.util
import os
import pathlib
import sys
import tempfile
import types
import unittest

from bench.demo.job_log import Line
from bench.program import BenchError
from bench.unmodified import toggling

ROOT = pathlib.Path(__file__).resolve().parents[3]
OPTIMUM = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"], "bin",
                       "penstock-optimum")


class Rates(unittest.TestCase):
    def test_a_phase_ends_where_the_lender_counts_its_work(self):
        lines = [Line(0, 0), Line(1, 0), Line(2, 50), Line(3, 50), Line(4, 90)]
        self.assertEqual(toggling.steps(lines), [Line(2, 50), Line(4, 90)])

    def test_rates_are_over_whole_periods(self):
        borrower = [Line(second, 30 * second) for second in range(0, 60, 3)]
        found = toggling.rates_over(borrower, (Line(10, 100), Line(50, 500)))
        self.assertAlmostEqual(found.borrower, 30)
        self.assertAlmostEqual(found.lender, 10)

    def test_a_log_that_ends_early_is_an_error(self):
        with self.assertRaisesRegex(BenchError, "does not cover"):
            toggling.rates_over([Line(0, 0), Line(20, 9)],
                                (Line(10, 0), Line(50, 9)))


@unittest.skipUnless(OPTIMUM.exists(), "SKIPPED: Clp is not installed")
class Optimum(unittest.TestCase):
    def share(self, computes, ceiling=400, cores=2):
        return toggling.optimal_share(OPTIMUM, cores, (100, 180), ceiling,
                                      computes)

    def test_a_computing_lender_leaves_one_cpu(self):
        self.assertAlmostEqual(self.share(True), 100 / 400)

    def test_a_pausing_lender_leaves_two(self):
        self.assertAlmostEqual(self.share(False), 180 / 400)

    def test_what_else_runs_takes_a_part(self):
        self.assertAlmostEqual(self.share(True, cores=1.9), 90 / 400)
        self.assertAlmostEqual(self.share(False, cores=1.9), 172 / 400)

    def test_the_ceiling_limits_what_two_cpus_bring(self):
        self.assertAlmostEqual(self.share(False, 150), 1)


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class Script(unittest.TestCase):
    def test_its_workers_can_be_elastic(self):
        sys.path.append(str(ROOT / "libpenstock" / "python"))
        from bench.demo import train_pytorch  # imports torch
        from penstock._exact import exact_epoch

        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "none.jpg").touch()
            loader = train_pytorch.make_loader(types.SimpleNamespace(
                data=folder, cold=False, replay=False, store_s=0, batch=2,
                workers=2))
        epoch = exact_epoch(loader)
        self.assertIsNone(epoch.reason)


if __name__ == "__main__":
    unittest.main()

"""The order of calibrating, running and printing the sets."""

import pathlib
import types
import unittest
from unittest import mock

from bench.demo import mix, sets

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Log:
    """Stands for the session and the calibration; records their calls."""

    def __init__(self, demo_mix):
        self.lines = []
        self.progress = types.SimpleNamespace(phase=lambda text: None)
        self.loaders = {"a": "as calibrated"}
        self.costs = {kind.name: types.SimpleNamespace(order=lambda: None)
                      for kind in demo_mix.kinds.values()}

    def measure(self, kinds):
        self.lines.append("calibrate " + "+".join(one.name for one in kinds))

    def enter(self, regime):
        self.lines.append(regime)

    def steady(self, orders, *_unused):
        usage = types.SimpleNamespace(steal=0, background=0)
        return types.SimpleNamespace(rates=(1.0,) * len(orders), usage=usage,
                                     jobs=tuple(range(len(orders))))

    def report(self, job):
        return {"job_id": job}

    def show(self, results, set_index):
        self.lines.append(f"show {set_index}: {len(results.runs)} runs")


class Order(unittest.TestCase):
    def setUp(self):
        self.mix = mix.load(ROOT / "bench" / "demo" / "mix.json", 2)
        self.log = Log(self.mix)

    def run_sets(self, rounds):
        return sets.measure(self.log, self.mix, self.log, rounds, 10, 2,
                            self.log.show)

    def test_each_set_is_shown_before_the_next_is_calibrated(self):
        results = self.run_sets(0)
        self.assertEqual(self.log.lines[:10], [
            "calibrate transformer+alexnet", "stock", "even", "penstock",
            "show 0: 3 runs",
            "calibrate records+alexnet", "penstock", "even", "stock",
            "show 1: 6 runs"])
        self.assertEqual(results.loaders, [self.log.loaders])

    def test_each_round_measures_all_loaders_again(self):
        with mock.patch("bench.demo.calibrate.measure_loaders",
                        side_effect=["first", "second"]) as anew:
            results = self.run_sets(2)
        self.assertEqual(results.loaders, ["first", "second"])
        self.assertEqual(anew.call_count, 2)
        self.assertEqual(len(results.runs), 2 * 3 * len(self.mix.sets))


if __name__ == "__main__":
    unittest.main()

import copy
import json
import pathlib
import types
import unittest

from bench.demo import calibrate, job_log, mix, optimum

ROOT = pathlib.Path(__file__).resolve().parents[3]
MIX_FILE = ROOT / "bench" / "demo" / "mix.json"


class Mix(unittest.TestCase):
    def setUp(self):
        self.data = json.loads(MIX_FILE.read_text("utf-8"))

    def test_the_committed_mix_has_the_required_kinds_and_demands(self):
        loaded = mix.load(MIX_FILE, 2)
        demand = {kind.name: kind.demand_slices
                  for kind in loaded.kinds.values()}
        self.assertAlmostEqual(demand["transformer"], 1 / 3)
        self.assertAlmostEqual(demand["alexnet"], 4)
        self.assertAlmostEqual(demand["pytorch"], 4 / 3)
        self.assertIn("storage", [kind.bound for kind in loaded.kinds.values()])
        self.assertGreater(len(loaded.schedule), 2)
        self.assertEqual(loaded.pool_bytes_per_s(2), 48 << 20)
        in_sets = {kind.name for one in loaded.sets for kind in one}
        self.assertEqual(in_sets, {one.kind.name for one in loaded.schedule})

    def test_the_recall_set_has_a_bursty_lender(self):
        lender, borrower = mix.load(MIX_FILE, 2).recall_set
        self.assertLess(lender.demand_slices, 1)
        self.assertGreater(borrower.demand_slices, 1)
        self.assertEqual((lender.batch, borrower.batch), (256, 64))

    def test_more_cpus_repeat_the_mix(self):
        loaded = mix.load(MIX_FILE, 6)
        self.assertEqual([kind.name for kind in loaded.sets[0]],
                         ["transformer", "alexnet"] * 3)
        self.assertEqual(len(loaded.schedule),
                         3 * len(mix.load(MIX_FILE, 2).schedule))
        arrivals = [one.arrive_s for one in loaded.schedule]
        self.assertEqual(arrivals, sorted(arrivals))

    def refused(self, change, said):
        data = copy.deepcopy(self.data)
        change(data)
        with self.assertRaisesRegex(mix.BenchError, said):
            mix.parse(data, 2)

    def test_errors_name_invalid_entries(self):
        def set_bound(data):
            data["kinds"]["res50"]["bound"] = "network"

        def set_program(data):
            data["kinds"]["pytorch"]["program"] = "bash"

        def set_three(data):
            data["sets"][0] = ["res50"] * 3

        def set_batch(data):
            data["kinds"]["gnmt"]["batch"] = 0

        self.refused(set_bound, "res50: bound=network; allowed")
        self.refused(set_program, "pytorch: program=bash; allowed")
        self.refused(set_three, "needs two kinds")
        self.refused(set_batch, "gnmt")
        with self.assertRaisesRegex(mix.BenchError, "even number"):
            mix.parse(self.data, 3)

    def test_the_accelerators_time_follows_from_the_demand(self):
        kinds = mix.load(MIX_FILE, 2).kinds
        # 4 ms of CPU per sample: a slice prepares 250/s, alexnet needs 1000.
        accelerator = mix.accelerator_s_per_sample(kinds["alexnet"], 0.004,
                                                   1e5, 24e6)
        self.assertAlmostEqual(1 / accelerator, 1000)
        self.assertAlmostEqual(mix.slice_rate(kinds["alexnet"], accelerator),
                               250)
        # 3 MB per sample, 24 MB/s per slice: 8/s; records needs 1.9 times that.
        accelerator = mix.accelerator_s_per_sample(kinds["records"], 0.002,
                                                   3e6, 24e6)
        self.assertAlmostEqual(1 / accelerator, 8 * 1.9)

    def test_a_light_job_is_limited_by_its_accelerator(self):
        kind = mix.load(MIX_FILE, 2).kinds["transformer"]
        self.assertAlmostEqual(mix.slice_rate(kind, 0.01), 100)
        arrival = mix.Arrival(kind, 0, 10)
        self.assertEqual(mix.samples_of(arrival, 0.01), 1000)
        self.assertEqual(mix.samples_of(mix.Arrival(kind, 0, 0.001), 0.01),
                         kind.batch)


class JobLog(unittest.TestCase):
    def text(self, samples):
        return "".join(json.dumps({"t_monotonic": 100 + 0.5 * index,
                                   "samples": count}) + "\n"
                       for index, count in enumerate(samples))

    def test_the_rate_is_the_slope_inside_the_interval(self):
        lines = job_log.parse(self.text([0, 0, 0] + list(range(0, 400, 20))))
        self.assertAlmostEqual(job_log.rate(lines, 101.5, 111), 40)

    def test_whole_steps_hardly_change_the_rate(self):
        steps = [int(index * 7.6 / 2) for index in range(24)]
        lines = job_log.parse(self.text(steps))
        self.assertAlmostEqual(job_log.rate(lines, 100, 112), 7.6, delta=0.05)

    def test_a_half_written_line_is_ignored(self):
        text = self.text([1, 2, 3])
        self.assertEqual(len(job_log.parse(text + '{"t_mono')), 3)

    def test_too_few_lines_give_no_rate(self):
        lines = job_log.parse(self.text([1, 2, 3, 4]))
        self.assertIsNone(job_log.rate(lines, 0, 1000))


class Optimum(unittest.TestCase):
    @staticmethod
    def cost(**given):
        values = dict(ceiling=1000.0, cpu_s_one=0.004, cpu_s_all=0.005,
                      pool_bytes=0.0)
        return types.SimpleNamespace(**{**values, **given})

    def test_the_curve_of_cores_is_convex(self):
        self.assertEqual(optimum.cores_curve(0.004, 0.005, 2),
                         [{"rate": 250.0, "cores": 1},
                          {"rate": 400.0, "cores": 2}])
        self.assertEqual(optimum.cores_curve(0.005, 0.004, 2),
                         [{"rate": 500.0, "cores": 2}])

    def test_new_loader_costs_replace_the_calibrated_ones(self):
        kinds = mix.load(MIX_FILE, 2).kinds
        costs = {name: calibrate.Cost(kinds[name], 1.0, 2.0, 3e6, 0.5, 100.0,
                                      "/p") for name in ("alexnet", "records")}
        now = calibrate.with_loaders(costs, {
            calibrate.loader_of(kinds["alexnet"]):
                calibrate.LoaderCost(1.1, 2.2),
            calibrate.loader_of(kinds["records"]):
                calibrate.LoaderCost(0.1, 0.2)})
        self.assertEqual((now["alexnet"].cpu_s_one, now["alexnet"].cpu_s_all,
                          now["alexnet"].ceiling), (1.1, 2.2, 100.0))
        self.assertEqual(now["records"].cpu_s_one, 0.1)

    def test_floors_are_the_rates_of_the_entitlement(self):
        problem = optimum.problem(
            [self.cost(), self.cost(ceiling=15.0, cpu_s_one=0.001,
                                    cpu_s_all=0.001, pool_bytes=3e6)],
            2, 0.1, 48e6)
        self.assertAlmostEqual(problem["cores"], 1.9)
        self.assertAlmostEqual(problem["jobs"][0]["floor"], 0.95 / 0.005)
        self.assertAlmostEqual(problem["jobs"][1]["floor"], 8)
        self.assertEqual(problem["pools"], [48e6])

    def test_a_floor_is_at_most_the_ceiling(self):
        self.assertEqual(optimum.floor_rate(100, 0.001, 1, 0, 48e6), 100)


if __name__ == "__main__":
    unittest.main()

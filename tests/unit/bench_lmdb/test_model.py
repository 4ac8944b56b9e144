"""The cost model of many ranks."""

import unittest

from bench.lmdb import model


class Fit(unittest.TestCase):

    def test_the_fit_recovers_a_line(self):
        line = model.fit_line([(x, 3 + 2 * x) for x in (1, 2, 4, 8, 16)])
        self.assertAlmostEqual(line.fixed, 3)
        self.assertAlmostEqual(line.slope, 2)

    def test_costs_are_never_negative(self):
        line = model.fit_line([(1, 5), (2, 4), (4, 1)])
        self.assertEqual(line.slope, 0)


class Epoch(unittest.TestCase):

    def setUp(self):
        self.machine = model.Machine(ranks=100, ranks_per_node=10,
                                     storage_bytes_per_s=500,
                                     node_bytes_per_s=100)

    def test_with_stock_every_node_reads_all_bytes(self):
        stock = model.Reading(model.Line(0, 0), bytes=1000)
        self.assertEqual(stock.stock_epoch_s(self.machine), 20)
        self.assertEqual(stock.our_epoch_s(self.machine), 2)

    def test_with_stock_every_rank_steps_over_all_records(self):
        reading = model.Reading(model.Line(fixed=50, slope=30), 1000)
        self.assertEqual(reading.stock_epoch_s(self.machine), 30.5)
        self.assertEqual(reading.our_epoch_s(self.machine), 35)


if __name__ == "__main__":
    unittest.main()

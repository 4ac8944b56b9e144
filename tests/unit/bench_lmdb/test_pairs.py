"""Intervals of the median of alternating pairs."""

import random
import unittest

from bench.lmdb import pairs


class Interval(unittest.TestCase):

    def test_an_interval_of_eleven_pairs_excludes_both_ends(self):
        self.assertEqual(pairs.interval(range(11)), (1, 9))

    def test_an_interval_of_few_pairs_spans_all_of_them(self):
        self.assertEqual(pairs.interval([3, 1, 2]), (1, 3))
        self.assertEqual(pairs.interval([1]), (1, 1))

    def test_the_interval_holds_the_median_in_over_95_percent(self):
        source = random.Random(3)
        held = 0
        for _ in range(2000):
            low, high = pairs.interval(
                [source.lognormvariate(0, 1) for _ in range(11)])
            held += low <= 1 <= high
        self.assertGreater(held / 2000, 0.95)


if __name__ == "__main__":
    unittest.main()

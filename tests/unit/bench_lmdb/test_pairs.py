"""Where the median of alternating pairs lies."""

import random
import unittest

from bench.lmdb import pairs


class Interval(unittest.TestCase):

    def test_eleven_pairs_lose_one_on_each_side(self):
        self.assertEqual(pairs.interval(range(11)), (1, 9))

    def test_few_pairs_say_little(self):
        self.assertEqual(pairs.interval([3, 1, 2]), (1, 3))
        self.assertEqual(pairs.interval([1]), (1, 1))

    def test_it_holds_the_median_as_often_as_it_says(self):
        source = random.Random(3)
        held = 0
        for _ in range(2000):
            low, high = pairs.interval(
                [source.lognormvariate(0, 1) for _ in range(11)])
            held += low <= 1 <= high
        self.assertGreater(held / 2000, 0.95)


if __name__ == "__main__":
    unittest.main()

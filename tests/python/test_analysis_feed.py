"""The batches of penstock._analysis_feed, and the condition for a cell to be
ready."""

import importlib.util
import unittest
from unittest import mock

from penstock import _analysis, _analysis_feed

HAS_TORCH = importlib.util.find_spec("torch")


def numbers(batch):
    return [int(number) for number in batch]


def set_of(feed, batches):
    return {n for _ in range(batches) for n in numbers(feed.draw()[0])}


@unittest.skipUnless(HAS_TORCH, "SKIPPED: python3-torch is not installed")
class FeedTest(unittest.TestCase):
    def loader(self, size=40, **parts):
        import torch.utils.data

        parts = {"batch_size": 4, **parts}
        return torch.utils.data.DataLoader(range(size), **parts)

    def test_batches_under_way_are_told_from_new_ones(self):
        for workers in (0, 1, 2):
            with self.subTest(workers=workers):
                feed = _analysis_feed.make_feed(
                    self.loader(num_workers=workers))
                set_of(feed, 3)
                feed.change(False, 8)
                drawn = [feed.draw() for _ in range(feed.depth + 6)]
                stale = [numbers(b) for b, fresh in drawn if not fresh]
                new = [numbers(b) for b, fresh in drawn if fresh]
                self.assertEqual(len(stale), 2 * workers)
                # Batches in progress were requested in the loader's own order.
                self.assertEqual(
                    sum(stale, []), list(range(12, 12 + 4 * len(stale))))
                self.assertEqual(set(sum(new, [])), set(range(8)))
                self.assertEqual(new[:2], [[0, 1, 2, 3], [4, 5, 6, 7]])

    def test_the_subset_is_of_whole_batches(self):
        for size, batch, subset, expected in (
            (40, 4, 8, 8), (40, 4, 9, 12), (40, 4, 100, 40), (42, 4, 100, 40),
            (3, 4, 100, 3), (40, None, 5, 5),
        ):
            feed = _analysis_feed.make_feed(self.loader(
                size, batch_size=batch))
            if batch is None:
                draw, feed.draw = feed.draw, None
                feed.draw = lambda draw=draw: ([draw()[0]], True)
            feed.change(False, subset)
            set_of(feed, 30)  # the first pass finds the end
            with self.subTest(size=size, batch=batch, subset=subset):
                self.assertEqual(set_of(feed, 90), set(range(expected)))
                if subset == 100:
                    self.assertEqual(feed.pass_samples(), expected)

    def test_cold_samples_are_of_all_the_data_and_go_on_where_they_were(self):
        feed = _analysis_feed.make_feed(self.loader())
        drawn = [numbers(feed.draw()[0])[0]]
        feed.change(True)
        drawn += [numbers(feed.draw()[0])[0] for _ in range(4)]
        feed.change(False, 8)
        set_of(feed, 5)
        feed.change(True)
        drawn += [numbers(feed.draw()[0])[0] for _ in range(7)]
        self.assertEqual(drawn, [*range(0, 40, 4), 0, 4])

    def test_a_loaders_own_order_and_batches_are_kept(self):
        own = [[5, 1], [7], [9, 2, 3]]
        loader = self.loader(batch_size=1, batch_sampler=own)
        feed = _analysis_feed.make_feed(loader)
        feed.change(False, 6)
        self.assertEqual([numbers(feed.draw()[0]) for _ in range(4)],
                         own + own[:1])

    def test_an_empty_loader_ends(self):
        feed = _analysis_feed.make_feed(self.loader(0, sampler=[]))
        with self.assertRaises(StopIteration):
            feed.draw()


class FakeWire:
    def __init__(self, *orders):
        self.orders = list(orders)
        self.sent = []

    def poll(self):
        return None

    def wait(self):
        return self.orders.pop(0)

    def send(self, **message):
        self.sent.append(message)


class FakeFeed:
    """Each cell's first three batches are stale."""

    depth = 4
    stale = 0
    notes = mock.Mock()
    changes = 0

    def __init__(self):
        self.notes.paths.return_value = []

    def change(self, cold, subset=None):
        self.subset = subset
        self.stale = 3
        self.changes += 1

    def pass_samples(self):
        return self.subset

    def draw(self):
        self.stale -= 1
        return [0] * 4, self.stale < 0

    def pids(self):
        return []


def cell(number, data, **parts):
    return {"cell": number, "data": data, "train": True, "cores": None,
            "bytes_per_s": None, "subset_samples": 32, **parts}


class StatesTest(unittest.TestCase):
    """Number of batches after which a cell is ready."""

    def setUp(self):
        self.feed = FakeFeed()
        for name, value in (
            ("make_feed", lambda loader: self.feed),
            ("facts_of", lambda *_: {}),
            ("Wire", lambda address: self.wire),
        ):
            patch = mock.patch.object(_analysis, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def batches_until_ready(self, *cells):
        wire = self.wire = FakeWire(cells[0])
        analysis = _analysis.Analysis(mock.Mock(), [])
        analysis._limits = mock.Mock()
        analysis._limits.apply.return_value = _analysis.Held()
        counts = []
        for number, order in enumerate(cells):
            if number > 0:
                analysis._take(order)
            count = 0
            while not any(m.get("ready") and m["cell"] == order["cell"]
                          for m in wire.sent):
                next(analysis)
                count += 1
            counts.append(count)
        return counts

    def test_a_cold_feed_needs_a_filled_pipeline(self):
        self.assertEqual(self.batches_until_ready(cell(1, "cold")), [3 + 4])

    def test_one_of_a_subset_needs_a_pass_of_it(self):
        self.assertEqual(
            self.batches_until_ready(
                cell(1, "memory", cores=1),
                cell(2, "memory", cores=1, subset_samples=8),
                cell(3, "cold"), cell(4, "memory", cores=1),
                cell(5, "memory", subset_samples=64, bytes_per_s=1e6)),
            [3 + 8, 3 + 4, 3 + 4, 3 + 8, 3 + 16])

    def test_memorys_own_rate_is_measured_once_and_without_limits(self):
        """The measurement takes a moment, in which batches are prepared."""
        with mock.patch.object(
                _analysis, "memory_bytes_per_s", return_value=1e9) as measure:
            self.batches_until_ready(cell(1, "memory", cores=1))
            measure.assert_not_called()
            self.assertEqual(
                self.batches_until_ready(
                    cell(1, "memory"), cell(2, "memory")), [3 + 8 + 4, 3 + 8])
            measure.assert_called_once()

    def test_a_replay_needs_two_and_leaves_the_feed_alone(self):
        self.assertEqual(
            self.batches_until_ready(cell(1, "replay"), cell(2, "cold"),
                                     cell(3, "replay")), [2, 3 + 4, 2])
        self.assertEqual(self.feed.changes, 1)


if __name__ == "__main__":
    unittest.main()

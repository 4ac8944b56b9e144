"""penstock.loader.Loader: epochs, ranks, and continuing within an epoch."""

import os
import unittest
from unittest import mock

import numpy
from loader_case import LoaderCase, numbers


class EpochTest(LoaderCase):
    def test_epochs_differ_and_repeat_with_the_seed(self):
        dataset = self.records()
        first = self.load(dataset, seed=1)
        epochs = [numbers(first) for _ in range(3)]
        self.assertNotEqual(epochs[0], epochs[1])
        again = self.load(dataset, seed=1, threads=3)
        self.assertEqual([numbers(again) for _ in range(3)], epochs)
        self.assertNotEqual(numbers(self.load(dataset, seed=2)), epochs[0])

    def test_an_iterator_that_is_left_ends_its_epoch(self):
        loader = self.load(self.records())
        reference = self.load(self.records())
        epochs = [numbers(reference) for _ in range(2)]
        left = iter(loader)
        self.assertEqual(next(left).indices.tolist(), epochs[0][0])
        self.assertEqual(numbers(loader), epochs[1])
        with self.assertRaisesRegex(RuntimeError, "iterated over anew"):
            next(left)

    def test_an_iterator_without_a_batch_takes_none(self):
        loader = self.load(self.records())
        iter(loader)
        self.assertEqual(numbers(loader), numbers(self.load(self.records())))

    def test_an_iterator_at_its_end_stays_there(self):
        epoch = iter(self.load(self.records()))
        self.assertEqual(sum(1 for _ in epoch), 7)
        self.assertEqual(list(epoch), [])


class OrderTest(LoaderCase):
    def test_without_order_epochs_stay_whole(self):
        for drop_last in (False, True):
            loader = self.load(
                self.records(), 7, ordered=False, drop_last=drop_last,
                threads=4, ring=8, direct=True,
            )
            for _ in range(20):
                epoch = numbers(loader)
                self.assertEqual(len(epoch), len(loader))
                seen = sum(epoch, [])
                self.assertEqual(len(set(seen)), 98 if drop_last else 100)
                self.assertEqual(len(seen), 98 if drop_last else 100)

    def test_the_short_batch_is_dropped_wherever_it_comes(self):
        loader = self.load(self.records(), 30, drop_last=True)
        images = numpy.zeros((30, 2), numpy.float32)

        def batch(number, size, ends_epoch):
            these = numpy.full(size, number)
            return images[:size], these, these, number, ends_epoch, False

        coming = [batch(0, 30, False), batch(3, 10, False),
                  batch(2, 30, False), batch(1, 30, True),
                  batch(7, 10, False), batch(4, 30, False),
                  batch(5, 30, False), batch(6, 30, True)]
        with mock.patch.object(loader, "_take", lambda: coming.pop(0)):
            epochs = [[batch[0] for batch in numbers(loader)]
                      for _ in range(2)]
        self.assertEqual(epochs, [[0, 2, 1], [4, 5, 6]])


class StateTest(LoaderCase):
    def resumed(self, taken, **options):
        """A new loader continues after that number of batches; returns both
        outputs."""
        dataset = self.records()
        first = self.load(dataset, seed=4, **options)
        got, epoch = [], iter(first)
        while len(got) < taken:
            batch = next(epoch, None)
            if batch is None:
                epoch = iter(first)
            else:
                got.append(batch.indices.tolist())
            del batch
        state = first.state_dict()
        second = self.load(dataset, seed=4, threads=2, **options)
        second.load_state_dict(state)
        self.assertEqual(second.state_dict(), state)
        while len(got) < 3 * len(first):
            got += numbers(second)
        return got

    def test_it_goes_on_exactly(self):
        for drop_last in (False, True):
            reference = self.load(self.records(), seed=4, drop_last=drop_last)
            expected = numbers(reference) + numbers(reference)
            expected += numbers(reference)
            for taken in (0, 1, 5, 6, 7, 8, 13, 14, 15):
                with self.subTest(taken=taken, drop_last=drop_last):
                    self.assertEqual(
                        self.resumed(taken, drop_last=drop_last), expected
                    )

    def test_the_very_loader_goes_back(self):
        loader = self.load(self.records())
        epoch = iter(loader)
        next(epoch)
        state = loader.state_dict()
        expected = numbers(epoch)
        loader.load_state_dict(state)
        self.assertEqual(numbers(loader), expected)
        loader.load_state_dict(state)
        self.assertEqual(numbers(loader), expected)
        with self.assertRaises(StopIteration):
            next(epoch)

    def test_with_another_number_of_ranks(self):
        dataset = self.records(96)
        order = sum(numbers(self.load(dataset, shuffle=True)), [])
        two = [self.load(dataset, 5, rank=r, ranks=2) for r in (0, 1)]
        states, seen = [], []
        for loader in two:
            epoch = iter(loader)
            for _ in range(3):
                seen += next(epoch).indices.tolist()
            states.append(loader.state_dict())
        self.assertEqual(states[0], states[1])
        self.assertEqual(set(seen), set(order[:30]))
        for rank in range(3):
            loader = self.load(dataset, 5, rank=rank, ranks=3)
            loader.load_state_dict(states[0])
            seen += sum(numbers(loader), [])
        self.assertEqual(sorted(seen), list(range(96)))

    def test_another_datasets_state_is_refused(self):
        state = self.load(self.records()).state_dict()
        for dataset, options in (
            (self.records(99), {}),
            (self.records(), {"seed": 1}),
            (self.records(), {"shuffle": False}),
        ):
            with self.assertRaises(ValueError):
                self.load(dataset, **options).load_state_dict(state)


class RankTest(LoaderCase):
    def test_two_ranks_have_all_samples_and_none_twice(self):
        dataset = self.records()
        parts = [
            sum(numbers(self.load(dataset, rank=r, ranks=2)), [])
            for r in (0, 1)
        ]
        self.assertEqual([len(part) for part in parts], [50, 50])
        self.assertEqual(sorted(parts[0] + parts[1]), list(range(100)))

    def test_tails(self):
        dataset = self.records()
        for drop_last, samples, length in ((False, 34, 4), (True, 33, 3)):
            loader = self.load(
                dataset, 10, rank=2, ranks=3, drop_last=drop_last
            )
            self.assertEqual(len(loader), length)
            got = sum(numbers(loader), [])
            self.assertEqual(len(got), 30 if drop_last else samples)

    def test_slurms_ranks_only_when_asked(self):
        slurm = {"SLURM_PROCID": "1", "SLURM_NTASKS": "4"}
        dataset = self.records()
        with mock.patch.dict(os.environ, slurm):
            self.assertEqual(len(self.load(dataset, 1)), 100)
            self.assertEqual(len(self.load(dataset, 1, rank="slurm")), 25)
        with mock.patch.dict(os.environ):
            os.environ.pop("SLURM_PROCID", None)
            with self.assertRaisesRegex(ValueError, "srun"):
                self.load(dataset, rank="slurm")


if __name__ == "__main__":
    unittest.main()

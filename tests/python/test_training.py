"""The decision which loaders feed the training."""

import unittest

from penstock._training import Tally, Training


class TrainingTest(unittest.TestCase):
    def setUp(self):
        self.start()

    def start(self, has_optimizer=True):
        self.published = []
        self.training = Training(self.publish, has_optimizer)

    def publish(self, samples, wait_ns, split, delay_ns, batches):
        self.published.append((samples, wait_ns, split, delay_ns, batches))

    def sums(self):
        """Samples, waits and batches."""
        return tuple(sum(one[i] for one in self.published) for i in (0, 1, 4))

    def turn(self, tally=None):
        return self.training.begin(tally or Tally())

    def batch(self, turn, samples=8, wait_ns=1):
        self.training.batch(turn, samples, wait_ns, None, 0)

    def epoch(self, tally, batches, steps=True):
        turn = self.turn(tally)
        for _ in range(batches):
            self.batch(turn)
            if steps:
                self.training.step()
        turn.open = False

    def test_the_loader_whose_batch_came_last_before_a_step_trains(self):
        train, validation = Tally(), Tally()
        for epoch in range(1, 4):
            self.epoch(validation, 5, steps=False)
            self.epoch(train, 10)
            self.assertEqual(self.sums(), (80 * epoch, 10 * epoch, 10 * epoch))

    def test_batches_before_the_first_step_are_published_with_it(self):
        turn = self.turn()
        for _ in range(3):
            self.batch(turn)
        self.assertEqual(self.published, [])
        self.training.step()
        self.assertEqual(self.published, [(24, 3, None, 0, 3)])
        self.batch(turn)
        self.assertEqual(self.sums(), (32, 4, 4))

    def test_the_last_batches_of_an_epoch_need_no_step(self):
        turn = self.turn()
        for number in range(1, 8):
            self.batch(turn)
            if number % 4 == 0:
                self.training.step()
        self.assertEqual(self.sums(), (56, 7, 7))

    def test_an_earlier_pass_without_steps_is_not_published(self):
        train = Tally()
        self.epoch(train, 5, steps=False)
        self.epoch(train, 3)
        self.assertEqual(self.sums(), (24, 3, 3))

    def test_split_times_are_summed_up(self):
        turn = self.turn()
        for fetch_ns in (5, 7):
            split = {"fetch_ns": fetch_ns, "prepared": 8}
            self.training.batch(turn, 8, 1, split, 2)
        self.training.step()
        split = {"fetch_ns": 12, "prepared": 16}
        self.assertEqual(self.published, [(16, 2, split, 4, 2)])

    def test_a_step_without_a_loaders_batch_trains_no_validation(self):
        validation = Tally()
        for _ in range(3):
            self.epoch(validation, 5, steps=False)
            for _ in range(10):  # data that no loader yields
                self.training.step()
        self.assertEqual(self.published, [])

    def test_a_validation_within_a_step_does_not_train(self):
        train, validation = self.turn(), Tally()
        for _ in range(4):
            self.batch(train)
            self.epoch(validation, 2, steps=False)
            self.training.step()
        self.assertEqual(self.sums(), (32, 4, 4))

    def test_loaders_that_are_iterated_together_wait_together(self):
        one, two = self.turn(), self.turn()
        for _ in range(5):
            self.batch(one, samples=100, wait_ns=10)
            self.batch(two, samples=8, wait_ns=1)
            self.training.step()
        self.assertEqual(self.sums(), (40, 55, 5))

    def test_a_validation_that_is_left_early_is_no_such_loader(self):
        train, validation = self.turn(), Tally()
        for _ in range(4):
            self.batch(self.turn(validation), samples=100, wait_ns=10)
            self.batch(train)
            self.training.step()
        self.assertEqual(self.sums(), (32, 4, 4))

    def test_loaders_that_train_in_turn_both_count(self):
        one, two = self.turn(), self.turn()
        for _ in range(3):
            for turn in (one, two):
                self.batch(turn)
                self.training.step()
        self.assertEqual(self.sums(), (48, 6, 6))

    def test_several_steps_of_one_batch_count_it_once(self):
        turn = self.turn()
        for _ in range(3):
            self.batch(turn)
            self.training.step()
            self.training.step()
        self.assertEqual(self.sums(), (24, 3, 3))

    def test_without_an_optimizer_the_most_batches_decide(self):
        self.start(has_optimizer=False)
        train, validation = Tally(), Tally()
        self.epoch(validation, 9, steps=False)
        self.assertEqual(self.published, [])
        self.epoch(train, 30, steps=False)
        self.assertEqual(self.sums(), (240, 30, 30))
        self.epoch(validation, 9, steps=False)
        self.assertEqual(self.sums(), (240, 30, 30))

    def test_without_an_optimizer_loaders_may_be_made_anew(self):
        self.start(has_optimizer=False)
        for epoch in range(1, 4):
            train = Tally()
            self.epoch(train, 20 - epoch, steps=False)
            train.alive = False
        self.assertEqual(self.sums()[2], 19 + 18 + 17)

    def test_with_an_optimizer_only_steps_decide(self):
        self.start(has_optimizer=False)
        statistics, train = Tally(), Tally()
        self.epoch(statistics, 30, steps=False)
        self.training.made_optimizer()
        self.published.clear()
        self.epoch(statistics, 30, steps=False)
        self.assertEqual(self.published, [])
        self.epoch(train, 5)
        self.assertEqual(self.sums(), (40, 5, 5))

    def test_a_watched_loader_needs_no_step_and_counts_alone(self):
        watched, other = self.turn(Tally(marked=True)), Tally()
        self.batch(watched)
        self.assertEqual(self.sums(), (8, 1, 1))
        self.epoch(other, 5)
        self.assertEqual(self.sums(), (8, 1, 1))


if __name__ == "__main__":
    unittest.main()

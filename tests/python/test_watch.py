"""penstock.watch()."""

import os
import time
import unittest

from fake_daemon import eventually
from penstock import Client, Watched, watch
from penstock._batch import batch_samples
from penstock._run_delay import begin_wait, end_wait, take_delay_ns
from watch_case import DaemonTestCase


class Tensor:
    """Has a length along its first dimension, and cannot be iterated."""

    def __init__(self, *shape):
        self.shape = shape

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]


class SlowLoader:
    batch_size = 4

    def __init__(self, batches, wait_s):
        self.batches = batches
        self.wait_s = wait_s
        self.note = "mine"

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            time.sleep(self.wait_s)
            yield Tensor(4, 3)


def compute(seconds):
    """Computes for that CPU time of the thread; returns the wall time."""
    begin, end = time.monotonic(), time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return time.monotonic() - begin


def forget_delay():
    """Of what this thread did before."""
    begin_wait()
    end_wait()
    take_delay_ns()


class WatchTest(DaemonTestCase):
    def compete(self):
        """Shares one CPU with a computing process until the test ends."""
        affinity = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, affinity)
        os.sched_setaffinity(0, {min(affinity)})
        rival = os.fork()
        if rival == 0:
            while True:
                pass
        self.addCleanup(os.waitpid, rival, 0)
        self.addCleanup(os.kill, rival, 9)

    def test_any_iterable_gives_the_same_batches_without_penstockd(self):
        batches = [[1, 2], "text", None, {"a": 1}, object()]
        self.assertEqual(list(watch(batches)), batches)
        self.assertEqual(list(watch(iter(batches))), batches)
        self.assertEqual(list(watch(x for x in range(3))), [0, 1, 2])

    def test_waits_are_measured_and_samples_counted(self):
        daemon, client = self.connect()
        watched = Watched(SlowLoader(5, 0.02), client)
        for epoch in (1, 2):
            for _ in watched:
                time.sleep(0.01)  # the trainer's own time is not a wait
            page = daemon.progress()
            self.assertEqual(page["samples"], 20 * epoch)
            self.assertEqual(page["steps"], 5 * epoch)
        self.assertGreaterEqual(page["wait_ns"], 10 * 20_000_000)
        spent_ns = page["updated_ns"] - page["started_ns"]
        self.assertLess(page["wait_ns"], spent_ns - 9 * 10_000_000)

    def test_waiting_for_a_cpu_is_told_apart_from_waiting_for_data(self):
        self.compete()
        daemon, client = self.connect()
        forget_delay()
        begin, busy_s = time.monotonic(), 0
        for _ in Watched(SlowLoader(20, 0.005), client):
            busy_s += compute(0.02)
        wall_s = time.monotonic() - begin
        page = daemon.progress()
        # Of 19 steps: the last one is reported with a batch that never comes.
        delay_s = page["delay_ns"] * 1e-9
        self.assertGreater(delay_s, 0.5 * (busy_s - 20 * 0.02))
        self.assertLess(delay_s, wall_s - page["wait_ns"] * 1e-9 - 19 * 0.02)

    def test_two_watched_loaders_tell_a_delay_once(self):
        self.compete()
        daemon, client = self.connect()
        loaders = [Watched(SlowLoader(20, 0), client) for _ in range(2)]
        nested = Watched(map(list, zip(*loaders)), client)
        forget_delay()
        begin = time.monotonic()
        for _ in nested:
            compute(0.02)
        wall_s = time.monotonic() - begin
        delay_s = daemon.progress()["delay_ns"] * 1e-9
        self.assertGreater(delay_s, 0.1)
        self.assertLess(delay_s, wall_s - 19 * 0.02 + 0.05)

    def test_a_new_epoch_alone_is_no_progress(self):
        daemon, client = self.connect()
        watched = Watched(SlowLoader(2, 0), client)
        list(watched)
        updated_ns = daemon.progress()["updated_ns"]
        seen = []
        client.report = lambda **counters: (
            Client.report(client, **counters),
            seen.append(daemon.progress()["updated_ns"]),
        )
        next(iter(watched))
        self.assertEqual(seen, [updated_ns])
        self.assertGreater(daemon.progress()["updated_ns"], updated_ns)

    def test_the_loaders_attributes_and_length_show_through(self):
        watched = watch(SlowLoader(5, 0))
        self.assertEqual(len(watched), 5)
        self.assertEqual(watched.note, "mine")
        with self.assertRaises(AttributeError):
            watched.nothing

    def test_truth_is_the_loaders(self):
        self.assertTrue(watch(x for x in range(3)))
        self.assertTrue(iter(watch(x for x in range(3))))
        self.assertFalse(watch([]))

    def test_an_iterator_can_be_asked_for_its_next_batch(self):
        daemon, client = self.connect()
        watched = watch(iter([[1, 2], [3, 4], [5]]))
        self.assertEqual(next(watched), [1, 2])
        self.assertEqual(daemon.progress()["samples"], 2)
        self.assertEqual(list(watched), [[3, 4], [5]])
        self.assertEqual(daemon.progress()["samples"], 5)
        with self.assertRaises(StopIteration):
            next(watched)
        with self.assertRaises(TypeError):  # as for a list
            next(watch([[1, 2]]))

    def test_the_iterators_attributes_show_through(self):
        class Iterator:
            def __iter__(self):
                return self

            def __next__(self):
                raise StopIteration

            def state_dict(self):
                return {"batch": 3}

        class Loader:
            def __iter__(self):
                return Iterator()

        self.assertEqual(iter(watch(Loader())).state_dict(), {"batch": 3})
        with self.assertRaises(AttributeError):
            iter(watch(Loader())).nothing

    def test_what_a_method_makes_of_the_loader_is_watched(self):
        class WebLoader(SlowLoader):
            def with_epoch(self, batches):
                self.batches = batches
                return self

            def slice(self, batches):
                return WebLoader(batches, 0)

            def size(self):
                return self.batches

        daemon, client = self.connect()
        watched = watch(WebLoader(5, 0))
        self.assertIs(watched.with_epoch(2), watched)
        self.assertEqual(len(list(watched.slice(3))), 3)
        self.assertEqual(daemon.progress()["samples"], 12)
        self.assertEqual(watched.size(), 2)

    def test_an_error_in_the_loader_passes(self):
        def broken():
            yield Tensor(2)
            raise OSError("disk")

        with self.assertRaisesRegex(OSError, "disk"):
            list(watch(broken()))

    def test_worker_processes_are_registered_for_the_epoch(self):
        daemon, client = self.connect()

        class Worker:
            pid = 4242

        class Iterator:
            _workers = [Worker()]
            left = 2

            def __iter__(self):
                return self

            def __next__(self):
                self.left -= 1
                if self.left < 0:
                    raise StopIteration
                return Tensor(1)

        class Loader:
            def __iter__(self):
                return Iterator()

        for _ in Watched(Loader(), client):
            self.assertTrue(eventually(lambda: daemon.threads == {4242: True}))
            self.assertEqual(daemon.progress()["loader_threads"], 1)
        self.assertTrue(eventually(lambda: daemon.threads == {4242: False}))
        for _ in Watched(Loader(), client):
            break
        self.assertTrue(eventually(lambda: daemon.threads == {4242: False}))


class BatchSamplesTest(unittest.TestCase):
    def test_the_first_tensor_or_sequence_decides(self):
        loader = SlowLoader(1, 0)
        for batch, samples in (
            (Tensor(8, 3), 8),
            ((Tensor(8, 3), Tensor(8)), 8),
            ([Tensor(), Tensor(7)], 7),
            ({"label": 3, "image": Tensor(6)}, 6),
            ({"a": {"b": [Tensor(5)]}}, 5),
            ([1, 2, 3], 3),
            (["a.jpg", "b.jpg"], 2),
            (Tensor(), 4),
            (None, 4),
            ("text", 4),
            ([], 0),
        ):
            with self.subTest(batch=batch):
                self.assertEqual(batch_samples(batch, loader), samples)
        self.assertEqual(batch_samples(None, object()), 1)


if __name__ == "__main__":
    unittest.main()

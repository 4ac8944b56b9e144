"""Measurement of DataLoaders by patches in torch."""

import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from fake_daemon import eventually
from penstock import Watched, _clone, _patch_loader, _process, report, watch
from penstock._instrument import instrument, is_measured
from watch_case import DaemonTestCase

try:
    import torch.utils.data
    from torch.utils.data import DataLoader, IterableDataset, TensorDataset
except ImportError:
    torch, IterableDataset = None, object


def ragged(samples):
    return [7 * [samples[0]], samples]


def data(size=24):
    return TensorDataset(torch.arange(float(size)).reshape(size, 1))


class Nested(IterableDataset):
    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        yield from self.inner


@unittest.skipUnless(torch, "python3-torch is not installed")
class InstrumentCase(DaemonTestCase):
    def setUp(self):
        super().setUp()
        self.daemon, self.client = self.connect()
        instrument()
        self.model = torch.nn.Linear(1, 1)

    def optimizer(self, kind=None):
        kind = kind or torch.optim.SGD
        return kind(self.model.parameters(), lr=1e-4)

    def train(self, loader, optimizer, every=1):
        for index, batch in enumerate(loader):
            batch = batch[0] if isinstance(batch, list) else batch
            self.model(batch).sum().backward()
            if index % every == every - 1:
                optimizer.step()
                optimizer.zero_grad()

    def check(self, samples, steps):
        page = self.daemon.progress()
        self.assertEqual((page["samples"], page["steps"]), (samples, steps))


class StepsTest(InstrumentCase):
    def test_training_counts_and_validation_does_not(self):
        optimizer = self.optimizer()
        loaders = [DataLoader(data(n), 4, num_workers=w)
                   for w in (0, 2) for n in (40, 20)]
        for epoch in (1, 2):
            for train, validation in (loaders[:2], loaders[2:]):
                list(validation)
                self.train(train, optimizer, every=3)
                list(validation)
        self.check(160, 40)

    def test_each_optimizer_shows_its_steps(self):
        class Own(torch.optim.Adam):
            def step(self, closure=None):
                return super().step(closure)

        class Inherited(torch.optim.AdamW):
            pass

        for number, kind in enumerate(
                [Own, Inherited, torch.optim.RMSprop, torch.optim.SGD], 1):
            self.train(DataLoader(data(), 4), self.optimizer(kind))
            self.check(24 * number, 6 * number)

    def test_a_step_with_a_closure_and_a_scheduler(self):
        optimizer = torch.optim.LBFGS(self.model.parameters(), max_iter=2)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)

        def closure():
            loss = self.model(torch.ones(1, 1)).sum()
            loss.backward()
            return loss

        for _ in DataLoader(data(), 4):
            self.assertIsInstance(optimizer.step(closure), torch.Tensor)
            scheduler.step()
        self.check(24, 6)

    def test_zipped_loaders_count_the_last_ones_samples(self):
        optimizer = self.optimizer()
        labelled, plain = DataLoader(data(24), 4), DataLoader(data(60), 10)
        for _, (batch,) in zip(labelled, plain):
            self.model(batch).sum().backward()
            optimizer.step()
        self.check(60, 6)

    def test_without_an_optimizer_ten_batches_count(self):
        list(DataLoader(data(36), 4))
        self.check(0, 0)
        list(DataLoader(data(40), 4))
        self.check(40, 10)

    def test_a_child_starts_anew(self):
        loader, optimizer = DataLoader(data(), 4), self.optimizer()
        self.train(loader, optimizer)
        child = os.fork()
        if child == 0:
            same = _process.current is None
            self.train(loader, optimizer)  # connects by itself
            os._exit(0 if same and _process.current else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.check(24, 6)


class LoadersTest(InstrumentCase):
    def setUp(self):
        super().setUp()
        self.sgd = self.optimizer()

    def test_every_kind_of_loader_is_counted_and_left_as_it_is(self):
        class Unhashable(DataLoader):
            __hash__ = None

            def __eq__(self, other):
                raise AssertionError("compared")

        class Own(DataLoader):
            def __iter__(self):
                for batch, in super().__iter__():
                    yield batch

        class Stream(IterableDataset):
            def __iter__(self):
                return iter(torch.arange(24.0).reshape(24, 1))

        kept = DataLoader(data(), 4, num_workers=2, persistent_workers=True)
        spawned = [DataLoader(data(), 4, num_workers=1,
                              multiprocessing_context=method)
                   for method in ("spawn", "forkserver")]
        total = 0
        for loader in (kept, kept, *spawned, Unhashable(data(), 4),
                       Own(data(), 4), DataLoader(Stream(), 4)):
            before = dict(vars(loader))
            self.train(loader, self.sgd)
            total += 24
            self.check(total, total // 4)
            after = dict(vars(loader))
            before.pop("_iterator"), after.pop("_iterator")
            self.assertEqual(after, before)

    def test_iterators_are_torchs_own(self):
        iterator = iter(DataLoader(data(), 4))
        self.assertIs(
            type(iterator),
            torch.utils.data.dataloader._SingleProcessDataLoaderIter)

    def test_a_loader_in_a_thread_is_counted(self):
        loader = DataLoader(data(), 4, num_workers=1)
        queue, thread = [], None
        thread = threading.Thread(target=lambda: queue.extend(loader))
        iterator = iter(DataLoader(data(), 4))  # never asked for a batch
        thread.start()
        thread.join()
        self.sgd.step()
        self.check(0, 0)  # the pass is over
        for _ in loader:
            self.sgd.step()
        self.check(24, 6)
        del iterator

    def test_a_loader_within_a_dataset_is_counted_once(self):
        class Slow(TensorDataset):
            def __getitem__(self, index):
                time.sleep(0.005)
                return super().__getitem__(index)

        inner = DataLoader(Slow(torch.zeros(24, 1)), None)
        begin_ns = time.monotonic_ns()
        for _ in DataLoader(Nested(inner), batch_size=4):
            self.sgd.step()
        self.check(24, 6)
        wall_ns = time.monotonic_ns() - begin_ns
        self.assertLess(self.daemon.progress()["wait_ns"], wall_ns)

    def test_a_worker_counts_nothing(self):
        class Idle(Nested):
            def __iter__(self):
                for _ in self.inner:
                    yield _process.current is None

        outer = DataLoader(Idle(DataLoader(data(), 4)), None, num_workers=1)
        self.assertEqual(list(outer), [True] * 6)

    def test_workers_that_are_kept_stay_registered(self):
        loader = DataLoader(
            data(), 4, num_workers=2, persistent_workers=True)
        next(iter(loader))
        iterator = iter(loader)
        threads = self.daemon.threads
        self.client.register(4242)  # messages arrive in order
        self.assertTrue(eventually(lambda: 4242 in threads))
        self.assertEqual(
            [threads[worker.pid] for worker in iterator._workers], [True] * 2)

    def test_statistics_end_with_the_loader(self):
        loader = DataLoader(data(), 4)
        self.train(loader, self.sgd)
        self.assertEqual(len(_process.current._loaders), 1)
        del loader
        gc.collect()
        self.assertEqual(len(_process.current._loaders), 0)

    def test_workers_are_registered_for_the_epoch(self):
        iterator = iter(DataLoader(data(), 4, num_workers=2))
        threads = self.daemon.threads.values
        self.assertTrue(eventually(lambda: list(threads()) == [True] * 2))
        list(iterator)
        self.assertTrue(eventually(lambda: list(threads()) == [False] * 2))

    def test_workers_that_are_not_forked_need_not_import_penstock(self):
        loader = DataLoader(data(), 4, num_workers=1,
                            multiprocessing_context="spawn")
        self.assertIs(iter(loader)._dataset, loader.dataset)
        forked = DataLoader(data(), 4, num_workers=1)
        self.assertIsNot(type(iter(forked)._dataset), TensorDataset)


class WatchTest(InstrumentCase):
    def test_a_watched_loader_stays_a_data_loader(self):
        loader = DataLoader(data(), 4)
        self.assertIs(watch(loader), loader)
        self.assertIs(watch(loader), loader)
        list(loader)
        self.check(24, 6)

    def test_a_loader_that_a_framework_makes_of_it_follows_steps(self):
        watched = watch(DataLoader(data(), 4))
        sharded = DataLoader(watched.dataset, 4, sampler=range(0, 24, 2))
        self.train(sharded, self.optimizer())
        list(DataLoader(data(), 4))
        self.check(12, 3)

    def test_beside_a_watched_loader_others_do_not_count(self):
        watched, other = watch(DataLoader(data(), 4)), DataLoader(data(), 4)
        next(iter(watched))
        self.train(other, self.optimizer())
        self.check(4, 1)
        self.assertTrue(is_measured(watched))
        self.assertFalse(is_measured(other))

    def test_a_loader_within_a_watched_iterable_counts_once(self):
        loader, optimizer = DataLoader(data(), 4), self.optimizer()
        for _ in watch(batch for batch in loader):
            optimizer.step()
        self.check(24, 6)

    def test_a_program_that_reports_itself_is_believed(self):
        report(samples=5, steps=1)
        self.train(DataLoader(data(), 4), self.optimizer())
        self.check(5, 1)

    def test_an_iterator_made_before_is_adopted(self):
        class MultiEpochs(DataLoader):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                self.own = _clone.stock_iter(self)  # before the patch

            def __iter__(self):
                for _ in range(len(self)):
                    yield next(self.own)

        self.assertEqual(len(list(watch(MultiEpochs(data(), 4)))), 6)
        self.check(24, 6)


class LengthTest(InstrumentCase):
    """Batches that do not show how many samples they have."""

    def train_ragged(self, workers, **options):
        loader = DataLoader(
            range(23), 4, num_workers=workers, collate_fn=ragged, **options)
        optimizer = self.optimizer()
        for _ in range(2):
            for _ in loader:
                self.model(torch.ones(1)).sum().backward()
                optimizer.step()

    def test_the_samplers_lengths_count(self):
        for number, options in enumerate((
            {"workers": 0},
            {"workers": 2},
            {"workers": 2, "persistent_workers": True},
            {"workers": 3, "prefetch_factor": 5},
        ), 1):
            with self.subTest(options):
                self.train_ragged(**options)
                self.check(46 * number, 12 * number)

    def test_a_failed_batch_does_not_shift_the_lengths(self):
        class Broken:
            def __len__(self):
                return 10

            def __getitem__(self, index):
                if index == 4:
                    raise LookupError
                return index

        batches = [[0], [4, 5], [1, 2, 3]]
        for number, workers in enumerate((0, 2), 1):
            running = iter(watch(DataLoader(
                Broken(), batch_sampler=batches, num_workers=workers,
                collate_fn=ragged)))
            next(running)
            with self.assertRaises(LookupError):
                next(running)
            next(running)
            self.check(4 * number, 2 * number)

    def test_an_iterable_dataset_decides_itself(self):
        class Stream(IterableDataset):
            def __iter__(self):
                return iter(range(6))

        list(watch(DataLoader(Stream(), 4)))
        self.check(6, 2)

    def test_another_torch_without_the_private_name(self):
        class Iterator:
            def __next__(self):
                raise StopIteration

        _patch_loader.patch_iterator(Iterator)
        self.assertRaises(StopIteration, Iterator().__next__)


class FailureTest(InstrumentCase):
    def test_a_failure_of_ours_ends_only_the_measurement(self):
        for part in ("Turn", "Tally"):
            with self.subTest(part), \
                    mock.patch("penstock._process._has_failed", False), \
                    mock.patch("penstock._process.current", None), \
                    mock.patch.object(penstock_training(), part, None), \
                    mock.patch("penstock._process.Tally", None):
                self.assertEqual(len(list(DataLoader(data(), 4))), 6)
                self.assertTrue(_process._has_failed)
        self.check(0, 0)

    def test_an_error_of_the_loader_passes(self):
        class Broken(TensorDataset):
            def __getitem__(self, index):
                raise OSError("disk")

        with self.assertRaisesRegex(OSError, "disk"):
            list(DataLoader(Broken(torch.zeros(4)), 4))
        self.assertFalse(_process._has_failed)

    def test_one_line_tells_a_failure_if_asked(self):
        script = (
            "import torch, penstock._instrument as it\n"
            "del torch.utils.data.dataloader._BaseDataLoaderIter\n"
            "it.instrument()\n"
            "loader = torch.utils.data.DataLoader(range(8))\n"
            "it.instrument()\n"
            "print(len(list(loader)))\n")
        for debug, lines in ((None, 0), ("1", 1)):
            environment = {**os.environ, "PENSTOCK_DEBUG": debug or ""}
            done = subprocess.run(
                [sys.executable, "-c", script], env=environment,
                capture_output=True, text=True, timeout=60)
            self.assertEqual((done.stdout, done.returncode), ("8\n", 0))
            self.assertEqual(len(done.stderr.splitlines()), lines)


def penstock_training():
    from penstock import _training

    return _training


if __name__ == "__main__":
    unittest.main()

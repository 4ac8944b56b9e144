"""watch(elastic="seeded"): batches that depend neither on the number of worker
processes nor on which one makes them, and epochs that continue elsewhere."""

import contextlib
import copy
import itertools
import os
import pickle
import random
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from pathlib import Path
from unittest import mock

import exact_case as case
from exact_case import torch
from penstock import load_state_dict, state_dict, watch
from penstock._seeded import workers_that_fit
from watch_case import DaemonTestCase

SEED = random.randrange(10**6)
SAMPLES = 120


class Draws(case.Dataset):
    """Samples that tell all random streams that they may use."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        drawn = [torch.rand(()).item(), random.random(), random.gauss(0, 1)]
        if case.numpy:
            drawn += [case.numpy.random.rand(), case.numpy.random.randn()]
        return index, *drawn


class Ragged(Draws):
    def __getitem__(self, index):
        return torch.rand(index % 5 + 1)


class Gate(Draws):
    """Sample 0 waits for a file."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __getitem__(self, index):
        while index == 0 and not (self.folder / "open").exists():
            time.sleep(0.01)
        (self.folder / f"done{index}").touch()
        return index


class Broken(Draws):
    def __getitem__(self, index):
        if index == 50:
            raise LookupError("sample 50")
        return index


def seeded(dataset=None, workers=2, **options):
    options = {"batch_size": 4, "shuffle": True} | options
    dataset = Draws() if dataset is None else dataset
    return watch(case.loader(dataset, workers, **options), elastic="seeded")


def begin(loader, seed=SEED):
    torch.manual_seed(seed)
    return case.quietly(iter, loader)


@unittest.skipUnless(torch, "python3-torch is not installed")
class SeededCase(DaemonTestCase):
    def setUp(self):
        super().setUp()
        print(f"{self.id()}: seed {SEED}")
        self.use_client(self.path)  # no penstockd


class StreamsTest(SeededCase):
    def test_batches_are_the_same_for_any_number_of_workers(self):
        expected = list(begin(seeded(workers=1)))
        self.assertEqual(len({sample[1] for b in expected for sample in b}), 120)
        for workers in (2, 3, 8):
            with self.subTest(workers=workers):
                self.assertEqual(list(begin(seeded(workers=workers))), expected)

    def test_batches_are_the_same_for_each_start_method(self):
        expected = list(begin(seeded()))
        for method in ("spawn", "forkserver"):
            with self.subTest(method):
                loader = seeded(multiprocessing_context=method)
                self.assertEqual(list(begin(loader)), expected)

    def test_order_and_the_trainers_streams_are_torchs_own(self):
        stock = case.loader(Draws(), 2, batch_size=4, shuffle=True)
        random.seed(SEED)
        own = [[sample[0] for sample in batch] for batch in begin(stock)]
        after = torch.rand(()), random.random()
        random.seed(SEED)
        got = [[sample[0] for sample in batch] for batch in begin(seeded())]
        self.assertEqual(got, own)
        self.assertEqual((torch.rand(()), random.random()), after)

    def test_epochs_and_seeds_differ(self):
        loader = seeded(shuffle=False)
        first, other = list(begin(loader)), list(case.quietly(iter, loader))
        self.assertNotEqual(first, other)
        self.assertNotEqual(first, list(begin(seeded(shuffle=False), SEED + 1)))
        drawn = [sample[1:] for batch in first + other for sample in batch]
        self.assertEqual(len(set(drawn)), 2 * SAMPLES)

    def test_ragged_samples_and_single_samples(self):
        for options in ({}, {"batch_size": None, "collate_fn": None}):
            expected = None
            for workers in (1, 4):
                loader = seeded(Ragged(), workers, **options)
                batches = [
                    [sample.tolist() for sample in batch]
                    if isinstance(batch, list) else batch.tolist()
                    for batch in begin(loader)
                ]
                expected = expected or batches
                self.assertEqual(batches, expected)

    def test_a_slow_sample_holds_up_no_other_batch(self):
        with tempfile.TemporaryDirectory() as folder:
            loader = seeded(Gate(folder), 2, shuffle=False, batch_size=2)
            batches = begin(loader)
            # 12 open batches for each of two processes.
            done = [Path(folder, f"done{index}") for index in range(2, 48)]
            self.assertTrue(case.eventually(
                lambda: all(path.exists() for path in done)))
            Path(folder, "open").touch()
            flat = list(itertools.chain.from_iterable(batches))
            self.assertEqual(flat, list(range(SAMPLES)))

    def test_an_error_of_a_sample_is_torchs(self):
        with self.assertRaisesRegex(LookupError, "sample 50"):
            list(begin(seeded(Broken())))

    def test_a_sampler_without_a_length_and_one_without_items(self):
        class Endless:
            def __iter__(self):
                return ([number] for number in range(9))

        loader = seeded(batch_sampler=Endless(), batch_size=1, shuffle=False)
        batches = begin(loader)
        first = [next(batches) for _ in range(4)]
        self.assertEqual(state_dict(loader)["batches"], 4)
        other = seeded(batch_sampler=Endless(), batch_size=1, shuffle=False)
        load_state_dict(other, state_dict(loader))
        whole = list(begin(
            seeded(batch_sampler=Endless(), batch_size=1, shuffle=False)))
        self.assertEqual(first + list(begin(other)), whole)
        self.assertEqual(list(begin(seeded([], shuffle=False))), [])

    def test_a_failure_of_ours_is_not_silent(self):
        with mock.patch("penstock._elastic.run_of", side_effect=OSError):
            with self.assertWarnsRegex(UserWarning, "Penstock failed"):
                self.assertEqual(len(list(seeded())), 30)

    def test_what_cannot_be_seeded_runs_as_in_torch_with_a_warning(self):
        for options, reason in (
            ({"persistent_workers": True}, "persistent_workers"),
            ({"workers": 0}, "num_workers is 0"),
        ):
            loader = seeded(**options)
            with self.assertWarnsRegex(UserWarning, reason):
                self.assertEqual(len(list(loader)), 30)


class StateTest(SeededCase):
    def check_continues(self, loaders, cut):
        """loaders: makes a loader for each run."""
        whole = list(begin(loaders()))
        loader = loaders()
        batches = begin(loader)
        first = list(itertools.islice(batches, cut))
        state = pickle.loads(pickle.dumps(state_dict(loader)))
        del batches
        other = loaders()
        load_state_dict(other, state)
        rest = list(begin(other, SEED + 7))
        self.assertEqual(first + rest, whole)
        return other

    def test_an_epoch_continues_at_any_batch_with_any_number(self):
        for cut in (1, 2, 13, 29):
            workers = iter((2, 2, 1 + cut % 5))
            with self.subTest(cut=cut):
                self.check_continues(lambda: seeded(workers=next(workers)), cut)

    def test_an_epoch_continues_with_each_sampler(self):
        def with_generator():
            return seeded(generator=torch.Generator().manual_seed(4))

        def with_replacement():
            sampler = torch.utils.data.RandomSampler(
                Draws(), replacement=True,
                generator=torch.Generator().manual_seed(4))
            return seeded(sampler=sampler, shuffle=False)

        def weighted():
            sampler = torch.utils.data.WeightedRandomSampler(
                [1.0, 2.0, 3.0] * 40, 90)
            return seeded(sampler=sampler, shuffle=False)

        def by_lists():
            batches = [[index, 3] for index in range(20)]
            return seeded(batch_sampler=batches, batch_size=1, shuffle=False)

        for loaders in (with_generator, with_replacement, weighted, by_lists):
            with self.subTest(loaders.__name__):
                self.check_continues(loaders, 7)

    def test_the_trainers_streams_are_left_alone(self):
        loader = seeded()
        next(begin(loader))
        other = seeded()
        load_state_dict(other, state_dict(loader))
        torch.manual_seed(9)
        random.seed(9)
        expected = torch.rand(()).item(), random.random()
        torch.manual_seed(9)
        random.seed(9)
        case.quietly(iter, other)
        self.assertEqual((torch.rand(()).item(), random.random()), expected)

    def test_a_continued_epoch_can_be_continued(self):
        whole = list(begin(seeded()))
        got, state = [], None
        for cut in (3, 5, 7, 100):
            loader = seeded(workers=1 + cut % 3)
            if state:
                load_state_dict(loader, state)
                self.assertEqual(state_dict(loader), state)
            batches = begin(loader)
            got += itertools.islice(batches, cut)
            state = state_dict(loader)
        self.assertEqual(got, whole)

    def test_a_state_remains_after_a_break(self):
        whole = list(begin(seeded()))
        loader = seeded()
        for number, _ in enumerate(begin(loader)):
            if number == 9:
                break
        load_state_dict(loader, state_dict(loader))
        self.assertEqual(list(case.quietly(iter, loader)), whole[10:])

    def test_after_an_epoch_there_is_nothing_to_continue(self):
        loader = seeded()
        list(begin(loader))
        state = state_dict(loader)
        self.assertEqual(state["batches"], 0)
        other = seeded()
        next(begin(other))
        load_state_dict(other, state)
        self.assertEqual(state_dict(other)["batches"], 0)
        self.assertEqual(len(list(begin(other))), 30)

    def test_a_failed_batch_is_behind_the_trainer(self):
        loader = seeded(Broken(), shuffle=False)
        batches = begin(loader)
        got = []
        for _ in range(16):  # sample 50 is in the batch of number 12
            try:
                got.append(next(batches)[0])
            except LookupError:
                pass
        self.assertEqual(got[-1], 60)
        other = seeded(Broken(), shuffle=False)
        load_state_dict(other, state_dict(loader))
        self.assertEqual(next(case.quietly(iter, other)), [64, 65, 66, 67])
        with contextlib.suppress(StopIteration):
            while True:
                next(batches)
        self.assertEqual(state_dict(loader)["batches"], 0)

    def test_a_sampler_with_another_generator_runs(self):
        if not case.numpy:
            self.skipTest("NumPy is not installed")

        class Sampler:
            generator = case.numpy.random.RandomState(0)

            def __len__(self):
                return SAMPLES

            def __iter__(self):
                return iter(self.generator.permutation(SAMPLES).tolist())

        loader = seeded(sampler=Sampler(), shuffle=False)
        self.assertEqual(len(list(begin(loader))), 30)

    def test_a_batch_samplers_size_counts_for_the_open_samples(self):
        sampler = torch.utils.data.BatchSampler(range(SAMPLES), 30, False)
        loader = seeded(batch_sampler=sampler, batch_size=1, shuffle=False)
        self.assertEqual(begin(loader)._prefetch_factor, 2)
        loader = seeded(batch_sampler=[[1, 2]] * 30, batch_size=1,
                        shuffle=False, prefetch_factor=3)
        self.assertEqual(begin(loader)._prefetch_factor, 3)

    def test_an_older_iterator_does_not_count(self):
        loader = seeded()
        older = begin(loader)
        newer = case.quietly(iter, loader)
        next(older), next(older), next(newer)
        self.assertEqual(state_dict(loader)["batches"], 1)

    def test_a_copy_begins_anew(self):
        loader = seeded()
        batches = begin(loader)
        next(batches)
        expected = list(begin(seeded()))
        for other in (pickle.loads(pickle.dumps(loader)), copy.copy(loader)):
            batches = begin(other)
            self.assertEqual(state_dict(other)["batches"], 0)
            self.assertEqual(list(batches), expected)
            self.assertEqual(state_dict(loader)["batches"], 1)

    def test_another_process_continues(self):
        whole = list(begin(seeded()))
        loader = seeded()
        batches = begin(loader)
        first = list(itertools.islice(batches, 4))
        with tempfile.NamedTemporaryFile() as file:
            torch.save({"loader": state_dict(loader)}, file.name)
            script = (
                "import sys, torch, pickle, test_seeded as t;"
                "from penstock import load_state_dict;"
                "loader = t.seeded(workers=3);"
                f"load_state_dict(loader, torch.load({file.name!r})['loader']);"
                "sys.stdout.buffer.write(pickle.dumps(list(loader)))")
            done = subprocess.run(
                [sys.executable, "-B", "-W", "ignore", "-c", script],
                stdout=subprocess.PIPE, check=True,
                env=os.environ | {"PENSTOCK_SOCKET": self.path})
        self.assertEqual(first + pickle.loads(done.stdout), whole)

    def test_errors(self):
        loader = seeded()
        for state in (None, {}, {"version": 2}, [1]):
            with self.assertRaisesRegex(ValueError, "not a state"):
                load_state_dict(loader, state)
        for batches in (-1, "x", None, 1.5, True):
            with self.assertRaisesRegex(ValueError, "batches"):
                load_state_dict(loader, {"version": 1, "batches": batches,
                                         "random": {}})
        for states in ({}, None, 3):
            with self.assertRaisesRegex(ValueError, "random states"):
                load_state_dict(loader, {"version": 1, "batches": 3,
                                         "random": states})
        with self.assertRaisesRegex(ValueError, "61 batches.*only 30"):
            load_state_dict(loader, {"version": 1, "batches": 61,
                                     "random": {"torch": b""}})
        with self.assertRaisesRegex(ValueError, "no seeded epoch"):
            state_dict(loader)
        running = begin(loader)
        next(running)
        for other in ([1], case.loader(),
                      watch(case.loader(), elastic="exact")):
            with self.assertRaisesRegex(ValueError, "elastic='seeded'"):
                state_dict(other)
            with self.assertRaisesRegex(ValueError, "elastic='seeded'"):
                load_state_dict(other, state_dict(loader))
        with self.assertRaisesRegex(ValueError, "cannot be seeded: num_w"):
            state_dict(seeded(workers=0))

        class Own(torch.utils.data.DataLoader):
            def __iter__(self):
                return super().__iter__()

        own = watch(Own(Draws(), num_workers=1), elastic="seeded")
        with self.assertRaisesRegex(ValueError, "__iter__ of its own"):
            state_dict(own)


class GrowthTest(DaemonTestCase):
    def test_workers_that_fit(self):
        for own, granted, size, room, expected in (
            (2, 4, 100, 10_000, 4),
            (2, 1, 100, 10_000, 2),
            (2, 4, 100, 200, 2),
            (2, 4, 100, 349, 2),
            (2, 4, 100, 350, 3),
            (2, 4, 100, 500, 4),
            (2, 4, 100, 0, 2),  # the user's own number is always allowed
            (1, 3, 0, 300, 3),
        ):
            with self.subTest(own=own, granted=granted, room=room):
                self.assertEqual(
                    workers_that_fit(own, granted, size, room), expected
                )

    @unittest.skipUnless(torch, "python3-torch is not installed")
    def test_more_than_the_users_number_work_and_change_nothing(self):
        expected = list(begin(seeded(workers=2)))
        daemon, _ = self.connect()
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        for granted, processes in ((1, 4), (4, 4), (6, 6)):
            daemon.set_hint(threads=granted)
            loader = seeded(workers=2)
            batches = begin(loader)
            self.assertEqual(len(batches._workers), processes)
            self.assertEqual(daemon.progress()["follows_hint"], 1)
            self.assertEqual(list(batches), expected)
        page = daemon.progress()
        self.assertEqual(page["samples"], 3 * SAMPLES)
        self.assertEqual(page["prepared"], 3 * SAMPLES)


if __name__ == "__main__":
    unittest.main()

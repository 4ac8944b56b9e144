"""Elastic workers change no bit: batches, order, worker ids, seeds and random
streams are those of torch's own workers, however the number of processes
changes."""

import random
import sys
import time
import unittest
import warnings
from unittest import mock

import exact_case as case
from exact_case import torch
from penstock import _crew, _exact_streams, _exact_worker
from penstock._exact_numpy import NumpyStream
from penstock._exact_random import RandomStream

SEED = random.randrange(10**6)


@unittest.skipUnless(torch, "python3-torch is not installed")
class ExactCase(unittest.TestCase):
    def setUp(self):
        print(f"{self.id()}: seed {SEED}")

    def check(self, loader, changes=20, seed=SEED, every=3):
        """Compares an epoch and the next one, since the first leaves torch's
        stream behind."""
        torch.manual_seed(seed)
        expected = list(case.quietly(iter, loader)) + [torch.rand(())]
        epoch = case.start(loader, seed)
        batches, changed = case.varied(epoch, seed, every)
        self.assertEqual(expected, batches + [torch.rand(())])
        if changes:
            self.assertIsNone(epoch.reason)
            self.assertIsNone(epoch.crew.why_fixed())
            self.assertGreaterEqual(changed, changes)
        return epoch


class IdentityTest(ExactCase):
    def test_batches_are_the_same_for_one_to_eight_workers(self):
        for workers in range(1, 9):
            with self.subTest(workers=workers):
                epoch = self.check(
                    case.loader(workers=workers, shuffle=True),
                    changes=0 if workers == 1 else 20,
                )
                if workers == 1:
                    self.assertEqual(epoch.reason, "num_workers is 1")

    def test_batches_are_the_same_with_each_option(self):
        batches = [[5, 6], [7], list(range(40)), [1] * 3] * 20
        generator = torch.Generator()
        for options in (
            {"worker_init_fn": case.seed_again},
            {"generator": generator, "shuffle": True},
            {"batch_sampler": batches, "batch_size": 1},
            {"batch_size": None, "collate_fn": None},
            {"prefetch_factor": 1},
            {"prefetch_factor": 5},
            {"drop_last": True, "batch_size": 7, "changes": 10},
            {"timeout": 30},
            {"pin_memory": True},
            {"multiprocessing_context": "fork"},
            {"multiprocessing_context": torch.multiprocessing.get_context()},
        ):
            with self.subTest(options):
                options = dict(options)
                changes = options.pop("changes", 20)
                loader = case.loader(workers=3, **options)
                generator.manual_seed(3)
                expected = case.stock_batches(loader)
                generator.manual_seed(3)
                epoch = case.start(loader)
                batches, changed = case.varied(epoch, SEED)
                self.assertEqual(expected, batches)
                self.assertGreaterEqual(changed, changes)

    def test_batches_without_order_are_all_there(self):
        try:
            loader = case.loader(in_order=False)
        except TypeError:
            self.skipTest("this torch has no in_order")
        batches, _ = case.varied(case.start(loader), SEED)
        numbers = sorted(sample[0] for batch in batches for sample in batch)
        self.assertEqual(numbers, list(range(240)))

    def test_huge_lists_of_indices_arrive(self):
        batches = [list(range(240)) * 400] * 2 + [[1]] * 100
        loader = case.loader(
            case.Processes(), workers=2, batch_sampler=batches, batch_size=1
        )
        sizes = [len(batch) for batch in case.varied(case.start(loader), 1)[0]]
        self.assertEqual(sizes, [len(batch) for batch in batches])

    def test_each_start_method_gives_the_same(self):
        expected = case.stock_batches(case.loader(workers=2), SEED)
        for method in ("spawn", "forkserver"):
            with self.subTest(method):
                loader = case.loader(
                    workers=2, multiprocessing_context=method
                )
                epoch = case.start(loader, SEED)
                batches, changed = case.varied(epoch, SEED)
                self.assertEqual(expected, batches)
                self.assertGreaterEqual(changed, 20)
                self.assertIsNone(epoch.crew.why_fixed())

    def test_a_stream_that_stays_behind_is_noticed(self):
        loader = case.loader(workers=4)
        expected = case.stock_batches(loader)
        for stream in _exact_streams.STREAMS:
            others = tuple(s for s in _exact_streams.STREAMS if s != stream)
            with self.subTest(stream.name), mock.patch.object(
                _exact_streams, "STREAMS", others
            ):
                batches, _ = case.varied(case.start(loader), SEED)
                self.assertNotEqual(expected, batches)

    def test_streams_are_kept_where_numpy_is_missing(self):
        with mock.patch.dict("sys.modules"):
            sys.modules.pop("numpy.random", None)
            saved = _exact_streams.save()
            expected = torch.rand(()), random.random()
            _exact_streams.load(saved)
            self.assertEqual((torch.rand(()), random.random()), expected)

    def test_worker_info_that_stays_behind_is_noticed(self):
        loader = case.loader(workers=4)
        expected = case.stock_batches(loader)
        with mock.patch.object(
            _exact_worker.ExactSeat, "_show_info", lambda *_: None
        ):
            batches, _ = case.varied(case.start(loader), SEED)
        self.assertNotEqual(expected, batches)


def draw(seed, get, set_state, source, uniform, normal):
    """Returns values of a stream, between random reads and sets."""
    rng = random.Random(seed)
    source.seed(seed)
    states, values = [get()], []
    for _ in range(200):
        action = rng.randrange(6)
        if action == 0:
            values.append(uniform())
        elif action == 1:
            values.append(normal())  # makes two, keeps one
        elif action == 2:
            states.append(get())
        elif action == 3:
            set_state(rng.choice(states))
    return values


class RandomTest(unittest.TestCase):
    def check(self):
        """Returns whether the generator's memory was used."""
        how = random, random.random, lambda: random.gauss(0, 1)
        for seed in range(100):
            fast = RandomStream()
            self.assertEqual(
                draw(seed, fast.get, fast.set, *how),
                draw(seed, random.getstate, random.setstate, *how),
            )
        return fast._known is not None

    def test_the_stream_is_read_and_set_as_by_python(self):
        self.assertTrue(self.check())

    def test_another_memory_is_not_touched(self):
        with mock.patch("penstock._exact_random._OFFSET", 0):
            self.assertFalse(self.check())

    def test_a_replaced_generator_is_left_to_python(self):
        fast = RandomStream()
        fast.get()
        other = random.Random(7)
        with mock.patch.multiple(
            random, getstate=other.getstate, setstate=other.setstate
        ):
            state = fast.get()
            value = other.random()
            fast.set(state)
            self.assertEqual(other.random(), value)


@unittest.skipUnless(case.numpy, "python3-numpy is not installed")
class NumpyTest(unittest.TestCase):
    def test_the_stream_is_read_and_set_as_by_numpy(self):
        numpy = case.numpy.random
        for seed in range(100):
            fast = NumpyStream()
            how = numpy, numpy.rand, numpy.randn
            self.assertEqual(
                draw(seed, fast.get, fast.set, *how),
                draw(seed, numpy.get_state, numpy.set_state, *how),
            )

    def test_numpys_memory_is_understood(self):
        fast = NumpyStream()
        case.numpy.random.seed(1)
        state = fast.get()
        self.assertIs(fast.get(), state)
        case.numpy.random.rand()
        self.assertIsNot(fast.get(), state)

    def test_another_generator_is_left_to_numpy(self):
        numpy = case.numpy.random
        if not hasattr(numpy, "set_bit_generator"):
            self.skipTest("this numpy has one generator only")
        own = numpy.get_bit_generator()
        self.addCleanup(numpy.set_bit_generator, own)
        numpy.set_bit_generator(numpy.PCG64(1))
        fast = NumpyStream()
        state = fast.get()
        value = numpy.rand()
        fast.set(state)
        self.assertEqual(numpy.rand(), value)


class NumberTest(ExactCase):
    def pids(self, epoch, batches):
        return {pid for _ in range(batches) for pid in next(epoch.iterator)}

    def test_as_many_processes_work_as_are_set(self):
        loader = case.loader(case.Processes(4000), workers=4)
        epoch = case.start(loader)
        list(case.movable(epoch))
        for count in (1, 3, 2, 4, 1):
            epoch.crew.set_processes(count)
            self.pids(epoch, 12)  # open tasks, some of them done already
            begin = len(self.pids(epoch, 100))
            self.assertLessEqual(begin, count)
        epoch.crew.set_processes(4)
        self.pids(epoch, 12)
        self.assertEqual(len(self.pids(epoch, 12)), 4)

    def test_batches_come_in_time_however_long_the_trainer_waits(self):
        loader = case.loader(case.Slow(), workers=2)
        epoch = case.start(loader)
        list(case.movable(epoch))
        idle = epoch.crew.memory.board.idle
        self.assertTrue(case.eventually(lambda: len(idle()) == 2))
        for count in (2, 1, 2):
            epoch.crew.set_processes(count)
            begin = time.monotonic()
            for _ in range(12):
                next(epoch.iterator)
            self.assertLess(time.monotonic() - begin, 4)

    def test_the_same_number_again_wakes_nobody(self):
        plan = _crew.CrewPlan(_exact_worker.ExactSeat, 4, 1, 4)
        crew = _crew.Crew(plan, torch.multiprocessing)
        with mock.patch.object(crew.memory, "ring_all") as ring_all:
            for count in (4, 5, 2, 2, 0, 1):
                crew.set_processes(count)
        self.assertEqual(ring_all.call_count, 2)

    def test_a_crew_may_be_told_a_number_after_its_epoch(self):
        epoch = case.start(case.loader(workers=2))
        list(epoch.iterator)
        epoch.crew.set_processes(1)


class Counting(case.Streams):
    count = 0

    def __getitem__(self, index):
        self.count += 1
        return index, self.count


class CountingLate(case.Streams):
    def __init__(self):
        super().__init__()
        self.late = []

    def __getitem__(self, index):
        if index > 100:
            self.late.append(index)
        return index


class OpensLate(case.Streams):
    file = None

    def __getitem__(self, index):
        if self.file is None:
            self.file = open("/dev/null")  # noqa: SIM115
        return super().__getitem__(index)


class Owning(case.Streams):
    def __init__(self, generator):
        super().__init__()
        self.transform = mock.Mock  # a class, no state
        self.parts = {"own": [generator]}


class OwnsLate(case.Streams):
    """Makes its random generator in the worker."""

    rng = None

    def __getitem__(self, index):
        if self.rng is None:
            seed = torch.utils.data.get_worker_info().seed
            self.rng = random.Random(seed)
        return index, self.rng.random()


class Spare(case.Streams):
    """Keeps a value for the next sample."""

    spare = None

    def __getitem__(self, index):
        if self.spare is None:
            self.spare = random.random()
            return index, random.random()
        value, self.spare = self.spare, None
        return index, value


class Numbered(case.Streams):
    def __getitem__(self, index):
        return index, self.worker


def number(worker):
    torch.utils.data.get_worker_info().dataset.worker = worker


def own(worker):
    dataset = torch.utils.data.get_worker_info().dataset
    dataset.rng = random.Random(worker)


def move_start(worker):
    torch.utils.data.get_worker_info().dataset.size = 230 + worker


class StateTest(ExactCase):
    def test_a_dataset_that_counts_keeps_its_processes(self):
        loader = case.loader(Counting())
        expected = case.stock_batches(loader)
        epoch = case.start(loader)
        self.assertEqual(case.varied(epoch, SEED)[0], expected)
        self.assertEqual(epoch.crew.processes(), 4)
        self.assertEqual(
            epoch.crew.why_fixed(), "the dataset changes Counting.count"
        )

    def test_state_that_begins_in_the_worker_keeps_the_processes(self):
        for dataset, options, reason in (
            (OwnsLate(), {}, "OwnsLate.rng has got a random generator"),
            (OwnsLate(), {"worker_init_fn": own}, "OwnsLate.rng has got"),
            (Numbered(), {"worker_init_fn": number}, "worker_init_fn gives"),
            (Spare(), {"batch_size": 1}, "the dataset changes Spare.spare"),
        ):
            with self.subTest(reason):
                loader = case.loader(dataset, **options)
                expected = case.stock_batches(loader)
                epoch = case.start(loader)
                self.assertEqual(case.varied(epoch, SEED)[0], expected)
                self.assertIn(reason, epoch.crew.why_fixed())

    def test_a_worker_init_fn_that_changes_the_dataset_is_noticed(self):
        loader = case.loader(worker_init_fn=move_start)
        expected = case.stock_batches(loader)
        epoch = case.start(loader)
        self.assertEqual(case.varied(epoch, SEED)[0], expected)
        self.assertEqual(
            epoch.crew.why_fixed(), "the dataset changes Streams.size"
        )

    def test_state_that_begins_late_is_told(self):
        epoch = case.start(case.loader(CountingLate(), workers=2))
        list(case.movable(epoch))
        list(epoch.iterator)
        self.assertEqual(
            epoch.crew.why_fixed(), "the dataset changes CountingLate.late"
        )

    def test_a_file_opened_at_the_first_sample_is_no_state(self):
        warnings.simplefilter("ignore", ResourceWarning)
        self.check(case.loader(OpensLate()))

    def test_random_generators_of_a_dataset_are_found(self):
        generators = [random.Random(1), torch.Generator()]
        if case.numpy:
            generators += [
                case.numpy.random.default_rng(1),
                case.numpy.random.RandomState(1),
            ]
        for generator in generators:
            with self.subTest(type(generator)):
                epoch = case.start(case.loader(Owning(generator), workers=2))
                self.assertEqual(
                    epoch.reason,
                    "Owning.parts has a random generator of its own",
                )
                self.assertIsNone(epoch.crew)
                self.assertEqual(len(list(epoch.iterator)), 120)


class FallbackTest(ExactCase):
    def test_loaders_that_cannot_vary_are_left_to_torch(self):
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(3))

        for loader, reason in (
            (case.loader(Stream(), 2), "IterableDataset"),
            (case.loader(workers=2, persistent_workers=True), "persistent"),
            (case.loader(case.Processes(), 0), "num_workers is 0"),
            ([[1], [2]], "not a torch DataLoader"),
        ):
            with self.subTest(reason):
                epoch = case.start(loader)
                self.assertIn(reason, epoch.reason)
                self.assertIsNone(epoch.crew)
                self.assertTrue(list(epoch.iterator))

    def test_another_torch_gets_its_own_iterator(self):
        loader = case.loader(workers=2, shuffle=True)
        expected = case.stock_batches(loader)
        worker = torch.utils.data._utils.worker
        own = worker._worker_loop

        def _worker_loop(*arguments):
            return own(*arguments)

        with mock.patch.object(worker, "_worker_loop", _worker_loop):
            epoch = case.start(loader)
            self.assertEqual(list(epoch.iterator), expected)
        self.assertIn("in an unknown way", epoch.reason)


if __name__ == "__main__":
    unittest.main()

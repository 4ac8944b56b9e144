"""Worker processes that follow the grant, by watch(elastic=...) or the job's
choice."""

import os
import pickle
import threading
import time
import unittest
import warnings
from unittest import mock

from penstock import watch
from penstock._elastic import mode_of
from penstock._follow import processes_for
from penstock._instrument import instrument
from penstock._mark import Mark
from watch_case import DaemonTestCase

try:
    import torch.utils.data
    from torch.utils.data import DataLoader, Dataset, IterableDataset
except ImportError:
    torch, Dataset, IterableDataset = None, object, object

WINDOW_S = 0.3
PATIENCE_S = 30
SAMPLE_S = 0.002


class Samples(Dataset):
    """A sample tells its process, when it was begun, and a random number."""

    computes = True

    def __len__(self):
        return 10**6

    def __getitem__(self, index):
        begin = time.monotonic()
        end = time.thread_time() + SAMPLE_S
        if self.computes:
            while time.thread_time() < end:
                pass
        else:
            time.sleep(SAMPLE_S)
        return os.getpid(), begin, torch.rand(()).item()


class Sleeping(Samples):
    computes = False


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(8))


def loader(dataset=None, **options):
    options = {"batch_size": 2, "num_workers": 4, "collate_fn": list} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more workers than CPUs
        return DataLoader(dataset or Samples(), **options)


class RuleTest(unittest.TestCase):
    def test_processes_that_wait_leave_their_cpus_to_others(self):
        for granted, busy, processes in (
            (1, 1.0, 1),
            (3, 1.0, 3),
            (3, 1.2, 3),  # a process with threads of its own
            (3, 0.95, 3),
            (3, 0.5, 6),
            (2, 0.75, 3),
            (1, 0.001, 1000),
        ):
            with self.subTest(granted=granted, busy=busy):
                self.assertEqual(processes_for(granted, busy, 4), processes)

    def test_all_processes_work_until_their_use_is_known(self):
        for busy in (None, 0, -0.1):
            self.assertEqual(processes_for(1, busy, 4), 4)

    def test_the_job_chooses_for_programs_that_say_nothing(self):
        for job, own, mode in (
            (None, None, None),
            (None, "exact", "exact"),
            ("exact", None, "exact"),
            ("off", "exact", None),
            ("off", None, None),
            ("sometimes", None, None),
            ("", "exact", "exact"),
        ):
            given = {} if job is None else {"PENSTOCK_LOADER_ELASTIC": job}
            with self.subTest(job=job, own=own), mock.patch.dict(
                os.environ, given
            ):
                self.assertEqual(mode_of(Mark(own)), mode)
        self.assertIsNone(mode_of(None))

    def test_another_value_is_an_error(self):
        for value in (True, "exactly", 4):
            text = f"elastic={value!r}.*'exact'"
            with self.assertRaisesRegex(ValueError, text):
                watch([1], elastic=value)


@unittest.skipUnless(torch, "python3-torch is not installed")
class FollowTest(DaemonTestCase):
    def setUp(self):
        super().setUp()
        self.daemon, self.client = self.connect()
        instrument()
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def processes(self, batches):
        """Returns how many begin a sample within some time from now."""
        seen, begin = set(), time.monotonic()
        for batch in batches:
            seen |= {pid for pid, begun, _ in batch if begun > begin}
            if batch[0][1] > begin + WINDOW_S:
                return len(seen)
        self.fail("the epoch is over")

    def wait_for(self, processes, batches):
        end = time.monotonic() + PATIENCE_S
        while (now := self.processes(batches)) != processes:
            self.assertLess(time.monotonic(), end, f"{now}, not {processes}")

    def check_follows(self, batches):
        for granted in (1, 3, 2, 4, 1):
            self.daemon.set_hint(threads=granted)
            self.wait_for(granted, batches)

    def test_processes_follow_the_grant_within_an_epoch(self):
        batches = iter(watch(loader(), elastic="exact"))
        self.check_follows(batches)

    def test_the_job_makes_programs_that_say_nothing_elastic(self):
        with mock.patch.dict(os.environ, PENSTOCK_LOADER_ELASTIC="exact"):
            batches = iter(loader())
        self.check_follows(batches)

    def test_all_processes_work_once_there_is_no_penstockd(self):
        self.daemon.set_hint(threads=1)
        batches = iter(watch(loader(), elastic="exact"))
        self.wait_for(1, batches)
        self.daemon.disappear()
        self.wait_for(4, batches)

    def settle(self, batches):
        """Until the processes' use of CPUs is known."""
        end = time.monotonic() + 1
        while time.monotonic() < end:
            next(batches)

    def test_all_processes_work_if_samples_wait_for_storage(self):
        self.daemon.set_hint(threads=1)
        batches = iter(watch(loader(Sleeping()), elastic="exact"))
        self.settle(batches)
        self.wait_for(4, batches)

    def test_a_pickle_follows_the_grant_too(self):
        watched = watch(loader(), elastic="exact")
        batches = iter(pickle.loads(pickle.dumps(watched)))
        self.check_follows(batches)

    def test_batches_are_torchs_own_and_their_times_are_split(self):
        torch.manual_seed(5)
        own = iter(loader())
        self.daemon.set_hint(threads=1)
        torch.manual_seed(5)
        elastic = iter(watch(loader(), elastic="exact"))
        drawn = [next(elastic) for _ in range(300)]
        self.wait_for(1, elastic)
        self.assertEqual(
            [batch[0][2] for batch in drawn], [next(own)[0][2] for _ in drawn]
        )
        page = self.daemon.progress()
        self.assertGreater(page["fetch_ns"] + page["prep_ns"], 0)
        self.assertGreater(page["prepared"], 300)

    def test_no_thread_stays_after_an_epoch(self):
        before = threading.active_count()
        for _ in range(3):
            batches = iter(watch(loader(), elastic="exact"))
            next(batches)
            del batches
        for thread in threading.enumerate():
            if thread.name == "penstock":
                thread.join(5)
        self.assertEqual(threading.active_count(), before)


@unittest.skipUnless(torch, "python3-torch is not installed")
class FixedTest(DaemonTestCase):
    def setUp(self):
        super().setUp()
        self.daemon, self.client = self.connect()
        self.daemon.set_hint(threads=1)

    def test_what_cannot_vary_stays_with_one_warning(self):
        for fixed, reason in (
            (loader(Stream(), batch_size=4), "IterableDataset"),
            (loader(range(8), persistent_workers=True), "persistent_workers"),
            (loader(range(8), num_workers=1), "num_workers is 1"),
            (loader(range(8), num_workers=0), "num_workers is 0"),
        ):
            with self.subTest(reason):
                watched = watch(fixed, elastic="exact")
                with self.assertWarnsRegex(UserWarning, reason) as caught:
                    self.assertGreater(len(list(watched)), 0)
                self.assertEqual(caught.filename, __file__)
                with warnings.catch_warnings():
                    warnings.filterwarnings("error", "penstock")
                    list(watched)

    def test_a_program_that_says_nothing_gets_no_warning(self):
        instrument()
        with mock.patch.dict(os.environ, PENSTOCK_LOADER_ELASTIC="exact"):
            with warnings.catch_warnings():
                warnings.filterwarnings("error", "penstock")
                list(loader(Stream(), num_workers=2))

    def test_what_is_no_data_loader_stays_with_a_warning(self):
        with self.assertWarnsRegex(UserWarning, "not a torch DataLoader"):
            watched = watch([1, 2, 3], elastic="exact")
        self.assertEqual(list(watched), [1, 2, 3])


if __name__ == "__main__":
    unittest.main()

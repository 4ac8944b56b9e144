"""penstock.watch() around real DataLoaders: it does not change their
batches, and splits their time into fetching and preparing."""

import copy
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from fake_daemon import eventually, socket_folder
from penstock import _clone, _split, watch
from watch_case import DaemonTestCase

try:
    import torch.utils.data
    from torch.utils.data import DataLoader, Dataset, IterableDataset
except ImportError:
    torch, Dataset, IterableDataset = None, object, object

MS = 1_000_000


class Noisy(Dataset):
    """Samples that depend on the worker's random stream."""

    start = 0

    def __init__(self, size=24):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return torch.tensor([self.start + index, torch.rand(()).item()])


class Batched(Noisy):
    def __getitems__(self, indices):
        return [torch.tensor([-index, len(indices)]) for index in indices]


class Stream(IterableDataset):
    """Workers divide it as torch's documentation shows: through the dataset
    in worker_info."""

    def __init__(self, size=22):
        self.start, self.end = 0, size

    def __iter__(self):
        for index in range(self.start, self.end):
            yield torch.tensor([index, torch.rand(()).item()])


def split_stream(worker):
    info = torch.utils.data.get_worker_info()
    dataset = info.dataset
    assert type(dataset) is Stream, type(dataset)
    each = (dataset.end + info.num_workers - 1) // info.num_workers
    dataset.start = worker * each
    dataset.end = min(dataset.end, dataset.start + each)


def start_at_1000(worker):
    torch.utils.data.get_worker_info().dataset.start = 1000


class Sleepy(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(0.02)
        return index


class SleepyStream(IterableDataset):
    def __iter__(self):
        for index in range(8):
            time.sleep(0.02)
            yield index


class Pipe(Dataset):
    def __init__(self, end):
        self.end = end

    def __len__(self):
        return 8

    def __getitem__(self, index):
        os.read(self.end, 1)
        return index


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return len(Path(self.paths[index]).read_bytes())


class Failing(Noisy):
    def __getitem__(self, index):
        if index == 5:
            raise KeyError("sample five")
        return super().__getitem__(index)


def collate_twice(samples):
    return torch.stack(samples + samples)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def listed(batches):
    return [[torch.as_tensor(part).tolist() for part in b] for b in batches]


@unittest.skipUnless(torch, "python3-torch is not installed")
class TorchCase(DaemonTestCase):
    def setUp(self):
        super().setUp()
        self.daemon, self.client = self.connect()

    def sums(self):
        page = self.daemon.progress()
        return [page[name] for name in (
            "fetch_ns", "prep_ns", "bytes", "prepared")]


def loader_kinds():
    """Each kind of dataset and batching, with and without workers."""
    for workers in ({"num_workers": 0}, {"num_workers": 2},
                    {"num_workers": 2, "persistent_workers": True}):
        for dataset, parts in (
            (Noisy(), {"batch_size": 4, "shuffle": True}),
            (Noisy(), {"batch_size": 5, "drop_last": True}),
            (Noisy(), {"batch_size": None}),
            (Noisy(), {"batch_size": 4, "collate_fn": collate_twice}),
            (Noisy(), {"batch_size": 4, "worker_init_fn": start_at_1000}),
            (Batched(), {"batch_size": 4}),
            (Stream(), {"batch_size": 4, "worker_init_fn": split_stream}),
            (Stream(), {"batch_size": 4, "drop_last": True}),
            (Stream(), {"batch_size": None}),
        ):
            yield dataset, {**workers, **parts}


class SameBatchesTest(TorchCase):
    def epochs(self, loader, wrap):
        torch.manual_seed(7)
        return [listed(wrap(loader)) for _ in range(3)]

    def check(self, dataset, parts):
        loader = DataLoader(dataset, **parts)
        before = dict(vars(loader))
        bare = self.epochs(DataLoader(dataset, **parts), lambda loader: loader)
        self.assertEqual(self.epochs(loader, watch), bare)
        self.assertTrue(bare[0])
        after = dict(vars(loader))
        after.pop("_penstock_watched")
        if parts.get("persistent_workers"):
            self.assertIsNotNone(after.pop("_iterator"))
            before.pop("_iterator")
        self.assertEqual(after, before)

    def test_every_kind_of_loader(self):
        for dataset, parts in loader_kinds():
            with self.subTest(dataset=type(dataset).__name__, **parts):
                before = self.sums()[3]
                self.check(dataset, parts)
                self.assertGreater(self.sums()[3], before)

    def test_workers_that_are_spawned_or_forked_by_a_server(self):
        for method in ("spawn", "forkserver"):
            for dataset, size, parts in (
                (Noisy(), 24, {}),
                (Stream(), 22, {"worker_init_fn": split_stream}),
            ):
                with self.subTest(method, dataset=type(dataset).__name__):
                    before = self.sums()[3]
                    loader = DataLoader(
                        dataset, batch_size=4, num_workers=1,
                        multiprocessing_context=method, **parts)
                    torch.manual_seed(7)
                    bare = listed(loader)
                    torch.manual_seed(7)
                    self.assertEqual(listed(watch(loader)), bare)
                    self.assertEqual(self.sums()[3] - before, size)

    def test_random_numbers_are_drawn_when_a_plain_loader_draws_them(self):
        def first_of(loader):
            torch.manual_seed(3)
            iterator = iter(loader)
            torch.rand(5)
            return listed([next(iterator)])

        loader = DataLoader(Noisy(), 4, shuffle=True)
        self.assertEqual(first_of(watch(loader)), first_of(loader))

    def test_a_sampler_of_ranks_takes_its_epoch_through_the_wrapper(self):
        sampler = torch.utils.data.DistributedSampler(
            range(24), num_replicas=2, rank=1, seed=5)
        watched = watch(DataLoader(range(24), 4, sampler=sampler))
        seen = []
        for epoch in (0, 1):
            watched.sampler.set_epoch(epoch)
            self.assertEqual(len(watched), 3)
            seen.append([x for batch in watched for x in batch.tolist()])
        self.assertNotEqual(*seen)
        self.assertEqual(sampler.epoch, 1)

    def test_attributes_that_are_set_are_the_loaders(self):
        loader = DataLoader(Noisy(), 4)
        watched = watch(loader)
        watched.num_workers = 1
        watched.note = "mine"
        self.assertEqual((loader.num_workers, loader.note), (1, "mine"))
        del watched.note
        self.assertFalse(hasattr(loader, "note"))
        with self.assertRaises(ValueError):  # as the loader has it
            watched.batch_size = 3

    @unittest.skipIf(hasattr(torch, "accelerator"),
                     "SKIPPED: without a GPU only older torch pins")
    def test_pinned_memory_goes_through_its_thread(self):
        pin = "torch.utils.data._utils.pin_memory"
        loader = DataLoader(Noisy(), 4, num_workers=2, pin_memory=True)
        with mock.patch("torch.cuda.is_available", return_value=True), \
                mock.patch("torch.cuda.current_device", return_value=0), \
                mock.patch("torch.cuda.set_device"), \
                mock.patch(f"{pin}.pin_memory", lambda data, device: data):
            torch.manual_seed(7)
            bare = listed(loader)
            torch.manual_seed(7)
            iterator = iter(watch(loader))
            self.assertTrue(iterator._pin_memory)
            self.assertEqual(listed(iterator), bare)
        self.assertEqual(self.sums()[3], 24)


class LifeTest(TorchCase):
    def test_leaving_early_ends_the_workers(self):
        loader = DataLoader(Noisy(), 4, num_workers=2)
        for _ in watch(loader):
            pids = [p for p, runs in self.daemon.threads.items() if runs]
            break
        eventually(lambda: not any(map(is_alive, pids)))
        self.assertFalse(any(map(is_alive, pids)))
        eventually(lambda: not any(self.daemon.threads.values()))
        self.assertFalse(any(self.daemon.threads.values()))

    def test_persistent_workers_live_on_when_each_epoch_is_watched_anew(self):
        loader = DataLoader(
            Noisy(), 4, num_workers=2, persistent_workers=True)
        pids = set()
        for epoch in (1, 2, 3):
            iterator = iter(watch(loader))
            pids.add(tuple(worker.pid for worker in iterator._workers))
            list(iterator)
            self.assertEqual(self.sums()[3], 24 * epoch)
        self.assertEqual(len(pids), 1)
        self.assertEqual(len(list(loader)), 6)  # unwatched, the same workers

    def test_a_sample_that_fails_ends_what_it_ends_without_watch(self):
        for workers in (0, 2):
            with self.subTest(workers=workers):
                loader = DataLoader(Failing(), 4, num_workers=workers)
                outcomes = []
                for wrap in (lambda loader: loader, watch):
                    iterator = iter(wrap(loader))
                    outcome = []
                    for _ in range(6):
                        try:
                            next(iterator)
                            outcome.append("batch")
                        except KeyError as error:
                            outcome.append("sample five" in str(error))
                    outcomes.append(outcome)
                self.assertEqual(outcomes[0], outcomes[1])
                self.assertEqual(outcomes[0].count("batch"), 5)

    def test_a_worker_that_is_killed_is_an_error(self):
        class Deadly(Noisy):
            def __getitem__(self, index):
                os._exit(1)

        loader = DataLoader(Deadly(), 4, num_workers=1)
        with self.assertRaisesRegex(RuntimeError, "exited unexpectedly"):
            next(iter(watch(loader)))

    def test_a_copy_and_a_pickle_watch_the_loader(self):
        for elastic in (None, "exact"):
            loader = watch(
                DataLoader(Noisy(), 4, num_workers=2), elastic=elastic)
            for other in (copy.copy(loader), copy.deepcopy(loader),
                          pickle.loads(pickle.dumps(loader))):
                before = self.daemon.progress()["samples"]
                self.assertEqual(len(list(other)), 6)
                after = self.daemon.progress()
                self.assertEqual(after["samples"] - before, 24)

    def test_a_pickle_is_watched_in_a_process_that_imports_only_torch(self):
        loader = watch(DataLoader(range(8), 4))
        script = ("import pickle, sys, torch; loader = pickle.loads("
                  "bytes.fromhex(sys.argv[1])); print(len(list(loader)))")
        done = subprocess.run(
            [sys.executable, "-c", script, pickle.dumps(loader).hex()],
            env={**os.environ, "PENSTOCK_SOCKET": self.path},
            capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("2\n", ""))
        self.assertEqual(self.daemon.progress()["samples"], 8)

    def test_no_descriptor_is_left_behind(self):
        loader = DataLoader(Noisy(), 4)
        list(watch(loader))
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(5):
            list(watch(loader))
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)


class SplitTest(TorchCase):
    def test_sleeping_in_the_dataset_or_in_collate_is_preparing(self):
        def slow_collate(samples):
            time.sleep(0.04)
            return torch.tensor(samples)

        for dataset in (Sleepy(), SleepyStream()):
            for workers, size in ((0, 4), (2, 4), (0, None)):
                with self.subTest(type(dataset).__name__, workers=workers):
                    before = self.sums()
                    loader = DataLoader(
                        dataset, size, num_workers=workers,
                        collate_fn=slow_collate if size else None)
                    begin_ns = time.monotonic_ns()
                    batches = len(list(watch(loader)))
                    spent_ns = time.monotonic_ns() - begin_ns
                    fetch_ns, prep_ns, _, samples = (
                        now - then for now, then in zip(self.sums(), before))
                    known_ns = samples * 20 * MS
                    known_ns += 40 * MS * batches if size else 0
                    self.assertGreaterEqual(prep_ns + fetch_ns, known_ns)
                    self.assertLess(prep_ns, spent_ns * max(1, workers))
                    self.assertLess(fetch_ns, known_ns * 0.02)

    def cold_files(self):
        """Files on a disk, none of them in the page cache."""
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        paths = [os.path.join(folder.name, str(i)) for i in range(8)]
        for path in paths:
            with open(path, "wb") as file:
                file.write(os.urandom(1 << 20))
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return paths

    def test_bytes_from_storage_are_fetched(self):
        for workers in (0, 2):
            with self.subTest(workers=workers):
                loader = DataLoader(
                    Files(self.cold_files()), 2, num_workers=workers)
                before = self.sums()
                list(watch(loader))
                cold = [n - b for n, b in zip(self.sums(), before)]
                if cold[2] == 0:
                    self.skipTest("SKIPPED: the file system keeps what it is "
                                  "told to drop")
                self.assertGreaterEqual(cold[2], 8 << 20)
                self.assertLess(cold[2], 9 << 20)
                self.assertGreater(cold[0], 0)
                # The first time a worker may also read a page of Python.
                for _ in range(3):
                    before = self.sums()
                    list(watch(loader))
                    warm = [n - b for n, b in zip(self.sums(), before)]
                    if warm[2] == 0:
                        break
                self.assertEqual((warm[0], warm[2], warm[3]), (0, 0, 8))
                self.assertGreater(warm[1], 0)

    def test_reads_that_the_kernel_does_not_count_as_storage_are_fetching(self):
        """As of files on many network file systems; here of a slow pipe."""
        def write_slowly(end):
            for _ in range(8):
                time.sleep(0.02)
                os.write(end, b"x")
            os.close(end)

        for workers in (0, 1):
            with self.subTest(workers=workers):
                reading, writing = os.pipe()
                self.addCleanup(os.close, reading)
                writer = threading.Thread(target=write_slowly, args=(writing,))
                before = self.sums()
                writer.start()
                list(watch(DataLoader(Pipe(reading), 2, num_workers=workers)))
                writer.join()
                fetch_ns, prep_ns, stored, samples = (
                    now - then for now, then in zip(self.sums(), before))
                self.assertEqual((stored, samples), (0, 8))
                self.assertGreater(fetch_ns, 80 * MS)
                self.assertLess(prep_ns, fetch_ns)

    def assert_not_split(self, loader, batches):
        before = self.sums()
        self.assertEqual(len(list(watch(loader))), batches)
        self.assertEqual(self.sums(), before)

    def test_what_is_left_alone(self):
        class OwnIterator(DataLoader):
            def _get_iterator(self):
                return super()._get_iterator()

        self.assert_not_split(OwnIterator(Noisy(), 4, num_workers=1), 6)
        self.assert_not_split([1, 2], 2)
        with mock.patch("os.memfd_create", side_effect=OSError("none left")):
            self.assert_not_split(DataLoader(Noisy(), 4, num_workers=1), 6)

        class Other(DataLoader):
            pass

        list(watch(Other(Noisy(), 4)))
        self.assertEqual(self.sums()[3], 24)
        list(watch([[1, 2]]))  # of all loaders or of none
        self.assertEqual(self.sums()[3], 26)
        # What the training thread does itself is known in any case.
        list(watch(OwnIterator(Noisy(), 4)))
        self.assertEqual(self.sums()[3], 50)

    def test_a_job_that_tells_such_counters_itself_is_believed(self):
        self.client.report(fetch_ns=5)
        self.assertEqual(len(list(watch(DataLoader(Noisy(), 4)))), 6)
        self.assertEqual(self.sums(), [5, 0, 0, 0])

    def test_without_penstockd_the_loader_itself_is_used(self):
        self.use_client(self.path + "x")
        with mock.patch.object(_split, "clone") as unused:
            list(watch(DataLoader(Noisy(), 4)))
        unused.assert_not_called()

    def test_the_proxy_looks_like_its_dataset(self):
        dataset = Stream(3)
        proxy = _split._TimedStream(dataset, None)
        self.assertIsInstance(proxy, Stream)
        self.assertIsInstance(proxy, IterableDataset)
        proxy.end = 2
        self.assertEqual((dataset.end, proxy.end), (2, 2))
        del proxy.end
        self.assertFalse(hasattr(dataset, "end"))
        self.assertEqual(repr(proxy), repr(dataset))
        self.assertEqual(len(_clone.DatasetProxy([1, 2], None)), 2)


RANK = """
import json, os, sys, torch, penstock
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
dist.init_process_group("gloo", init_method="file://" + sys.argv[1],
                        rank=int(os.environ["RANK"]), world_size=2)
torch.manual_seed(1)
data = TensorDataset(torch.arange(40.).reshape(40, 1))
sampler = DistributedSampler(data, shuffle=True)
loader = DataLoader(data, 4, sampler=sampler, num_workers=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
optimiser = torch.optim.SGD(model.parameters(), lr=1e-4)
batches = penstock.watch(loader)
seen = []
for epoch in range(2):
    batches.sampler.set_epoch(epoch)
    for batch, in batches:
        optimiser.zero_grad()
        model(batch).sum().backward()
        optimiser.step()
        seen += batch.flatten().tolist()
print(json.dumps([seen, model.module.weight.item(), len(batches)]))
del model  # before its group: see tests/corpus/scripts/gloo_processes.py
dist.destroy_process_group()
"""


class RanksTest(TorchCase):
    def test_two_ranks_train_as_one(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        outputs = run_ranks(RANK, folder.name, self.path)
        (one, weight_1, length), (two, weight_2, _) = outputs
        self.assertEqual((weight_1, length), (weight_2, 5))
        for epoch in (slice(0, 20), slice(20, 40)):
            self.assertEqual(sorted(one[epoch] + two[epoch]), list(range(40)))
        page = self.daemon.progress()  # the fake one has one page for both
        self.assertGreaterEqual(page["samples"], 40)


def run_ranks(script, folder, socket_path):
    """The JSON output of each of two ranks."""
    ranks = []
    for rank in ("0", "1"):
        environment = {**os.environ, "RANK": rank, "WORLD_SIZE": "2",
                       "PENSTOCK_SOCKET": socket_path}
        ranks.append(subprocess.Popen(
            [sys.executable, "-c", script, os.path.join(folder, "meet")],
            env=environment, stdout=subprocess.PIPE, text=True))
    try:
        texts = [rank.communicate(timeout=60)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    return [json.loads(text.splitlines()[-1]) for text in texts]


if __name__ == "__main__":
    unittest.main()

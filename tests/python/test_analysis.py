"""Analysis mode of penstock.watch(): the source of the samples of a
map-style dataset, and its reports."""

import json
import os
import tempfile
import time
import unittest

from analysis_case import (FILE_BYTES, FILES, MAP, TORCH, UNWATCHED,
                           FilesCase, grown, needs_torch, samples_after_first)
from fake_analyze import SECRET, FakeAnalyze
from hook_case import HOOK


@needs_torch
class UnwatchedTest(FilesCase):
    """A program that does not use penstock, by the hook."""

    def test_the_loader_that_trains_is_analysed(self):
        for parts in ("num_workers=0", "num_workers=2",
                      "num_workers=2, persistent_workers=True"):
            with self.subTest(parts):
                self.check(parts)

    def check(self, parts):
        analyze = self.analyze(
            UNWATCHED.format(parts=parts),
            PYTHONPATH=f"{HOOK}:{os.environ['PYTHONPATH']}")
        rank = analyze.ranks[0]
        self.assertEqual(rank.hello["batch_samples"], 8)
        self.assertEqual(rank.hello["dataset_samples"], FILES)
        _, messages = rank.run(1, "cold", 200)
        if self.drops:
            self.assert_cold(messages)
        _, messages = rank.run(2, "memory", 200, subset_samples=16)
        self.assert_from_memory(messages)
        rank.run(3, "replay", 200, train=True)
        (output, errors), code = analyze.end()[0]
        self.assertEqual((code, errors), (0, ""))
        lines = [json.loads(line) for line in output.splitlines()]
        self.assertEqual(lines[:12], 12 * [{"validated": 4}])
        self.assertEqual(lines[12:], (len(lines) - 12) * [{"trained": 8}])
        self.assertGreater(len(lines), 30)


@needs_torch
class SamplesTest(FilesCase):
    """A map-style dataset."""

    def check_feeds(self, **script):
        analyze = self.analyze(MAP.format(**script))
        rank = analyze.ranks[0]
        self.check_hello(rank.hello)
        for number, data in enumerate(
                ("cold", "memory", "cold", "memory"), 1):
            _, messages = rank.run(number, data, 200, subset_samples=32)
            with self.subTest(data, number=number):
                if data == "memory":
                    self.assert_from_memory(messages)
                elif self.drops:
                    self.assert_cold(messages)
                self.check_measures(messages)
        (_, errors), code = analyze.end()[0]
        self.assertEqual((code, errors), (0, ""))

    def check_hello(self, hello):
        self.assertEqual(
            [hello[name] for name in ("secret", "rank", "ranks", "source",
                                      "batch_samples", "dataset_samples")],
            [SECRET, 0, 1, "python watch", 4, FILES])
        self.assertEqual(hello["cpus"], len(os.sched_getaffinity(0)))
        self.assertTrue(hello["can"]["memory"])
        self.assertEqual(hello["can"]["cold"], "fadvise" if self.drops else "")
        self.assertTrue(hello["filesystem"])
        self.assertGreater(hello["cache_bytes"], 0)

    def check_measures(self, messages):
        ends = [end for message in messages for end in message["end_ns"]]
        self.assertEqual(ends, sorted(ends))
        self.assertLess(ends[-1], time.monotonic_ns())
        for message in messages:
            self.assertEqual(len(message["end_ns"]), len(message["wait_ns"]))
            self.assertEqual(set(message["samples"]), {4})
        self.assertGreater(messages[-1]["cpu_s"], 0)
        consumed = grown(messages, "consumed_bytes")
        expected = samples_after_first(messages) * FILE_BYTES
        self.assertGreater(consumed, expected * 0.5 - 32 * FILE_BYTES)

    def test_without_workers(self):
        self.check_feeds(parts="num_workers=0", step_s=0)

    def test_forked_workers(self):
        self.check_feeds(parts="num_workers=2", step_s=0)

    def test_persistent_workers(self):
        self.check_feeds(
            parts="num_workers=2, persistent_workers=True", step_s=0)

    def test_replay_and_training(self):
        analyze = self.analyze(MAP.format(parts="num_workers=1", step_s=0.005))
        rank = analyze.ranks[0]
        self.assertEqual(rank.hold(), 0)
        for number, data in enumerate(("replay", "memory", "replay"), 1):
            rank.run(number, data, 80, train=True, subset_samples=16)
        steps = rank.hold()
        (output, _), code = analyze.end()[0]
        batches = [json.loads(line) for line in output.splitlines()]
        self.assertEqual((code, len(batches)), (0, steps))
        first = batches[0]["batch"]
        self.assertFalse(batches[0]["same"])
        replayed = [b for b in batches if b["batch"] == first and b["same"]]
        self.assertGreaterEqual(len(replayed), 2 * 20)
        # The subset: four batches in the loader's own order.
        trained = {tuple(b["batch"]) for b in batches}
        self.assertEqual(len(trained), 4)
        self.assertEqual(len({i for b in trained for i in b}), 16)

    def test_training_takes_its_time_and_drawing_does_not(self):
        analyze = self.analyze(MAP.format(parts="num_workers=1", step_s=0.02))
        rank = analyze.ranks[0]
        rates = []
        for number, train in enumerate((True, False), 1):
            _, messages = rank.run(number, "memory", 60, train=train,
                                   subset_samples=16)
            ends = [end for m in messages for end in m["end_ns"]]
            rates.append((len(ends) - 1) / (ends[-1] - ends[0]) * 1e9)
        self.assertLess(rates[0], 50)
        self.assertGreater(rates[1], 60)

    def test_stale_batches_are_never_measured(self):
        """Samples of the previous feed take 200 ms, those of this one take no
        time."""
        script = TORCH + """
class Slow(Files):
    def __getitem__(self, index):
        item = super().__getitem__(index)
        if index >= 16:
            time.sleep(0.2)
        return item
loader = DataLoader(Slow(), 4, num_workers=2, prefetch_factor=3)
for batch in penstock.watch(loader):
    pass
"""
        rank = self.analyze(script).ranks[0]
        for number in range(1, 5, 2):
            rank.run(number, "memory", 20, subset_samples=48)
            _, messages = rank.run(number + 1, "memory", 200,
                                   subset_samples=16)
            waits = [wait for m in messages for wait in m["wait_ns"]]
            self.assertLess(sum(w > 160e6 for w in waits), 2)

    def test_spawned_workers_and_single_samples(self):
        with tempfile.NamedTemporaryFile(
                "w", suffix=".py", delete=False) as file:
            file.write(TORCH + """
class Whole(Files):
    def __getitems__(self, indices):
        return [self[index] for index in indices]
if __name__ == "__main__":
    kind = sys.argv[2]
    loader = DataLoader(Whole(), None if kind == "single" else 4,
        num_workers=1, multiprocessing_context="spawn")
    for batch in penstock.watch(loader):
        pass
""")
        self.addCleanup(os.unlink, file.name)
        for kind in ("whole", "single"):
            analyze = FakeAnalyze(
                file.name, arguments=[self.folder.name, kind])
            self.addCleanup(analyze.close)
            rank = analyze.ranks[0]
            size = 4 if kind == "whole" else 2  # torch: a sample's length
            for number, data in enumerate(("cold", "memory"), 1):
                _, messages = rank.run(number, data, 40 * size,
                                       subset_samples=32)
                bytes_per_sample = FILE_BYTES * (1 if size == 4 else 0.5)
                if data == "memory":
                    self.assert_from_memory(messages)
                elif self.drops:
                    self.assert_cold(messages, bytes_per_sample)
            self.assertEqual(analyze.end()[0][1], 0)

    def test_a_file_that_is_mapped_is_dropped_as_well(self):
        self.need_drops()
        script = TORCH + """
import mmap
class Mapped(Dataset):
    file = open(os.path.join(DATA, "one"), "rb")
    memory = mmap.mmap(file.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ)
    def __len__(self):
        return 64
    def __getitem__(self, index):
        part = len(self.memory) // 64
        return sum(self.memory[index * part:(index + 1) * part:4096])
Mapped()[3]  # this process has pages of it
for batch in penstock.watch(DataLoader(Mapped(), 4, num_workers=2)):
    pass
"""
        folder = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        with open(os.path.join(folder.name, "one"), "wb") as file:
            file.write(os.urandom(16 << 20))
            os.fsync(file.fileno())
        analyze = self.analyze(script, data=folder.name)
        rank = analyze.ranks[0]
        self.assertEqual(rank.hello["can"]["cold"], "fadvise")
        _, messages = rank.run(1, "cold", 1000, subset_samples=64)
        passes = samples_after_first(messages) / 64
        self.assertGreater(passes, 3)
        read = grown(messages, "read_bytes")
        self.assertGreater(read, (passes - 1) * 0.8 * (16 << 20))
        _, messages = rank.run(2, "memory", 1000, subset_samples=64)
        self.assert_from_memory(messages)

    def test_the_memory_rate_is_told_once_it_is_known(self):
        rank = self.analyze(MAP.format(parts="num_workers=1", step_s=0)
                            ).ranks[0]
        told = []
        for number, data in enumerate(("cold", "memory", "replay"), 1):
            _, messages = rank.run(number, data, 100, subset_samples=16)
            told.append({m["memory_bytes_per_s"] for m in messages})
        self.assertEqual(told[0], {None})
        self.assertEqual(len(told[1]), 1)
        self.assertEqual(told[1], told[2])
        self.assertGreater(min(told[1]), 1e8)

    def test_a_dataset_smaller_than_the_subset(self):
        rank = self.analyze(MAP.format(parts="num_workers=1", step_s=0)
                            ).ranks[0]
        _, messages = rank.run(1, "memory", 100, subset_samples=100_000)
        self.assert_from_memory(messages)

    def test_files_known_by_their_list_only(self):
        """Opens by C code raise no event in Python."""
        self.need_drops()
        script = TORCH + """
import ctypes
libc = ctypes.CDLL(None)
class Listed(Dataset):
    def __init__(self):
        self.root = DATA
        self.samples = [(n, 0) for n in sorted(os.listdir(DATA))]
    def __len__(self):
        return len(self.samples)
    def __getitem__(self, index):
        path = os.path.join(DATA, self.samples[index][0])
        fd = libc.open(path.encode(), 0)
        buffer = ctypes.create_string_buffer(%d)
        size = libc.read(fd, buffer, len(buffer))
        libc.close(fd)
        return size
data = torch.utils.data.ConcatDataset([Listed(), Listed()])
data = torch.utils.data.Subset(data, range(0, len(data), 2))
for batch in penstock.watch(DataLoader(data, 4, num_workers=1)):
    assert batch.tolist() == [%d] * 4, batch
""" % (FILE_BYTES, FILE_BYTES)
        analyze = self.analyze(script)
        rank = analyze.ranks[0]
        self.assertEqual(rank.hello["dataset_bytes"], FILES * FILE_BYTES)
        self.assertEqual(rank.hello["can"]["cold"], "fadvise")
        self.assert_cold(rank.run(1, "cold", 200, subset_samples=32)[1])

if __name__ == "__main__":
    unittest.main()

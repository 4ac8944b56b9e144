"""Analysis mode of penstock.watch(), with a fake penstock analyze."""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from fake_analyze import SECRET, FakeAnalyze

FILE_BYTES = 256 << 10
FILES = 48

# The training scripts; DATA is the folder of files.
COMMON = """
import json, os, sys, time
import penstock
DATA = sys.argv[1]
def emit(**what):
    print(json.dumps(what), flush=True)
"""
TORCH = COMMON + """
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
torch.set_num_threads(1)

class Files(Dataset):
    def __init__(self, opens=open):
        self.names = sorted(os.listdir(DATA))
    def __len__(self):
        return len(self.names)
    def __getitem__(self, index):
        with open(os.path.join(DATA, self.names[index]), "rb") as file:
            return torch.tensor([index, len(file.read())])
"""
MAP = TORCH + """
seen = []
loader = DataLoader(Files(), 4, shuffle=True, {parts})
for batch in penstock.watch(loader):
    emit(batch=batch[:, 0].tolist(), same=bool(seen and seen[-1] is batch))
    seen.append(batch)
    time.sleep({step_s})
"""


def make_files(count=FILES, size=FILE_BYTES):
    """A folder of files that are written back, where there is a disk."""
    folder = tempfile.TemporaryDirectory(dir="/var/tmp")
    for number in range(count):
        with open(os.path.join(folder.name, f"{number:03}"), "wb") as file:
            file.write(os.urandom(size))
            os.fsync(file.fileno())
    return folder


def file_system_drops(folder):
    from penstock._analysis_storage import why_not_cold

    first = sorted(os.listdir(folder))[0]
    return why_not_cold(os.path.join(folder, first)) == ""


def grown(messages, name):
    return messages[-1][name] - messages[0][name]


def samples_after_first(messages):
    return sum(sum(message["samples"]) for message in messages[1:])


class FilesCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = make_files()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.drops = file_system_drops(cls.folder.name)

    def analyze(self, script, **parts):
        analyze = FakeAnalyze(
            script, arguments=[parts.pop("data", self.folder.name)], **parts)
        self.addCleanup(analyze.close)
        return analyze

    def need_drops(self):
        if not self.drops:
            self.skipTest("SKIPPED: this file system does not drop files")

    def assert_cold(self, messages, bytes_per_sample=FILE_BYTES, share=1.0):
        """Each sample's bytes came from storage."""
        expected = samples_after_first(messages) * bytes_per_sample * share
        read = grown(messages, "read_bytes")
        # What workers had read ahead when the first message was sent.
        slack = 8 * 4 * bytes_per_sample
        self.assertGreater(expected, slack)
        self.assertGreater(read, expected - slack)
        self.assertLess(read, expected * 1.1 + slack)


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class SamplesTest(FilesCase):
    """A map-style dataset."""

    def check_feeds(self, **script):
        analyze = self.analyze(MAP.format(**script))
        rank = analyze.ranks[0]
        self.check_hello(rank.hello)
        number = 0
        for data, share in (("cold", 1.0), ("memory", 0.0), ("mixed", 0.75),
                            ("memory", 0.0), ("cold", 1.0)):
            number += 1
            _, messages = rank.run(number, data, 200, cached_share=0.25,
                                   subset_samples=32)
            with self.subTest(data, number=number):
                if data == "memory":
                    self.assertEqual(grown(messages, "read_bytes"), 0)
                elif self.drops:
                    self.assert_cold(messages, share=share)
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
        # The subset: the loader's own order, four batches of it.
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
        """Samples of the feed before take 50 ms, those of this one none."""
        script = TORCH + """
class Slow(Files):
    def __getitem__(self, index):
        item = super().__getitem__(index)
        if index >= 16:
            time.sleep(0.05)
        return item
loader = DataLoader(Slow(), 4, num_workers=2, prefetch_factor=3)
for batch in penstock.watch(loader):
    pass
"""
        rank = self.analyze(script).ranks[0]
        for number in range(1, 5, 2):
            rank.run(number, "memory", 60, subset_samples=48)
            _, messages = rank.run(number + 1, "memory", 200,
                                   subset_samples=16)
            waits = [wait for m in messages for wait in m["wait_ns"]]
            self.assertLess(statistics.quantiles(waits, n=50)[-1], 40e6)
            self.assertLess(sum(w > 40e6 for w in waits), 2)

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
            size = 4 if kind == "whole" else 2  # torch: a sample's own length
            for number, data in enumerate(("cold", "memory", "mixed"), 1):
                _, messages = rank.run(number, data, 40 * size,
                                       cached_share=0.5, subset_samples=32)
                bytes_per_sample = FILE_BYTES * (1 if size == 4 else 0.5)
                if data == "memory":
                    self.assertEqual(grown(messages, "read_bytes"), 0)
                elif self.drops:
                    share = {"cold": 1.0, "mixed": 0.5}[data]
                    self.assert_cold(messages, bytes_per_sample, share)
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
        self.assertEqual(grown(messages, "read_bytes"), 0)

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
        self.assertEqual(grown(messages, "read_bytes"), 0)

    def test_files_known_by_their_list_only(self):
        """Those that C code opens raise no event in Python."""
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


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class StreamsTest(FilesCase):
    STREAM = TORCH + """
class Stream(IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        names = sorted(os.listdir(DATA))
        for name in names[info.id::info.num_workers] if info else names:
            with open(os.path.join(DATA, name), "rb") as file:
                yield len(file.read())
for batch in penstock.watch(DataLoader(Stream(), 4, num_workers={workers})):
    pass
"""

    def test_streams_begin_anew(self):
        for workers in (0, 2):
            with self.subTest(workers=workers):
                analyze = self.analyze(self.STREAM.format(workers=workers))
                rank = analyze.ranks[0]
                self.assertIsNone(rank.hello["dataset_samples"])
                for number, data in enumerate(
                        ("memory", "cold", "memory", "cold"), 1):
                    _, messages = rank.run(number, data, 200,
                                           subset_samples=32)
                    if data == "memory":
                        self.assertEqual(grown(messages, "read_bytes"), 0)
                    elif self.drops:
                        self.assert_cold(messages)
                self.assertEqual(analyze.end()[0][1], 0)


class IterablesTest(FilesCase):
    """Without torch."""

    def test_any_iterable_begins_anew(self):
        script = COMMON + """
class Loader:
    batch_size = 4
    def __iter__(self):
        names = sorted(os.listdir(DATA))
        for first in range(0, len(names), 4):
            yield [open(os.path.join(DATA, name), "rb").read()
                   for name in names[first:first + 4]]
for batch in penstock.watch(Loader()):
    pass
"""
        rank = self.analyze(script).ranks[0]
        self.assertEqual(rank.hello["batch_samples"], 4)
        self.assertIsNone(rank.hello["workers"])
        for number, data in enumerate(("memory", "cold", "memory"), 1):
            _, messages = rank.run(number, data, 200, subset_samples=16)
            if data == "memory":
                self.assertEqual(grown(messages, "read_bytes"), 0)
            elif self.drops:
                self.assert_cold(messages)

    def test_an_iterator_is_replayed_only(self):
        script = COMMON + """
for batch in penstock.watch(iter([[i] * 3 for i in range(100_000)])):
    time.sleep(0.001)
"""
        rank = self.analyze(script).ranks[0]
        self.assertEqual(rank.hello["can"]["memory"], False)
        self.assertEqual(rank.hello["can"]["cold"], "")
        self.assertIn("only once", rank.hello["can"]["why"])
        rank.run(1, "replay", 60, train=True)

    def test_fast_steps_are_told_in_short_lines(self):
        script = COMMON + """
for batch in penstock.watch([[1, 2]] * 10):
    pass
"""
        rank = self.analyze(script).ranks[0]
        _, messages = rank.run(1, "replay", 20_000)
        self.assertLessEqual(max(len(m["end_ns"]) for m in messages), 1000)

    def test_a_loop_that_begins_again_goes_on_with_the_analysis(self):
        script = COMMON + """
loader, other = [[1, 2]] * 10, [[3]] * 4
for epoch in range(3):
    for step, batch in zip(range(5), penstock.watch(loader)):
        pass
    assert len(list(penstock.watch(other))) == 4
emit(done=True)
"""
        analyze = self.analyze(script)
        rank = analyze.ranks[0]
        rank.start(1, "memory", train=True, subset_samples=4)
        rank.await_ready(1)
        self.assertIsNone(self.last_message(rank))
        (output, _), code = analyze.outcomes()[0]
        self.assertEqual((output, code), ('{"done": true}\n', 0))

    @staticmethod
    def last_message(rank):
        while (message := rank.receive()) is not None:
            pass
        return message


class LifeTest(FilesCase):
    LOOP = COMMON + """
import atexit
atexit.register(lambda: emit(saved=True))
for batch in penstock.watch([[1, 2]] * 10):
    time.sleep(0.001)
emit(saved=True)
"""

    def test_the_end_is_at_once(self):
        analyze = self.analyze(self.LOOP)
        analyze.ranks[0].run(1, "replay", 60, train=True)
        (output, errors), code = analyze.end()[0]
        self.assertEqual((output, errors, code), ("", "", 0))

    def test_a_lost_connection_ends_the_rank(self):
        for what in (None, b"[1]\n", b"nonsense\n", b"x" * 70000,
                     b'{"cell": 1}\n', b'{"cell": 1, "data": "warm"}\n'):
            with self.subTest(what=what and what[:20]):
                analyze = self.analyze(self.LOOP)
                rank = analyze.ranks[0]
                if what:
                    rank.socket.sendall(what)
                else:
                    rank.start(1, "memory", train=True)
                    rank.socket.close()
                (output, errors), code = analyze.outcomes()[0]
                self.assertEqual((output, code), ("", 1))
                self.assertRegex(errors, "^penstock: the connection to penstock"
                                 " analyze is lost: .*\n$")

    def test_nobody_there(self):
        script = COMMON + "emit(batches=len(list(penstock.watch([1, 2]))))"
        for address in ("127.0.0.1:1:" + SECRET, "nonsense", "a:b:c",
                        "127.0.0.1:port:" + SECRET):
            done = subprocess.run(
                [sys.executable, "-c", script, "x"], text=True, timeout=60,
                capture_output=True,
                env={**os.environ, "PENSTOCK_ANALYZE": address})
            self.assertEqual(done.stdout, '{"batches": 2}\n')
            self.assertRegex(done.stderr, "^penstock: penstock analyze cannot "
                             "be reached: .*; not analysed\n$")

    @unittest.skipUnless(importlib.util.find_spec("torch"),
                         "SKIPPED: python3-torch is not installed")
    def test_workers_end_with_their_rank_and_hold_no_connection(self):
        script = TORCH + """
class Stuck(Files):
    def __getitem__(self, index):
        if index >= 16:
            time.sleep(100)
        return super().__getitem__(index)
for batch in penstock.watch(DataLoader(Stuck(), 4, num_workers=2)):
    pass
"""
        analyze = self.analyze(script)
        rank = analyze.ranks[0]
        rank.hold()  # its workers go on to what they are stuck in
        pid = analyze.processes[0].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self.assertEqual(len(children), 2)
        own = rank.socket.getsockname()[1]
        for child in children:
            self.assertFalse(has_connection(child, own))
        self.assertTrue(has_connection(pid, own))
        analyze.end()
        for child in children:
            self.assertFalse(is_running(child))


def is_running(pid):
    """Waits a little: a killed process takes a moment."""
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.02)
    return True


def has_connection(pid, port):
    """Whether a process holds a TCP connection to a local port."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].split(":")[1], 16) == port:
            inodes.add(f"socket:[{fields[9]}]")
    folder = f"/proc/{pid}/fd"
    return any(os.readlink(f"{folder}/{fd}") in inodes
               for fd in os.listdir(folder))


if __name__ == "__main__":
    unittest.main()

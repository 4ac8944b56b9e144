"""Training scripts on real files, and a TestCase that analyzes them."""

import importlib.util
import os
import tempfile
import unittest

from fake_analyze import FakeAnalyze

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
# A script that does not use penstock, and validates first.
UNWATCHED = TORCH.replace("import penstock\n", "") + """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
with torch.no_grad():
    for batch in DataLoader(Files(), 4, num_workers=1):
        emit(validated=len(batch))
for batch in DataLoader(Files(), 8, shuffle=True, {parts}):
    model(batch.float()).sum().backward()
    optimizer.step()
    emit(trained=len(batch))
emit(over=True)
"""
MAP = TORCH + """
seen = []
loader = DataLoader(Files(), 4, shuffle=True, {parts})
for batch in penstock.watch(loader):
    emit(batch=batch[:, 0].tolist(), same=bool(seen and seen[-1] is batch))
    seen.append(batch)
    time.sleep({step_s})
"""


needs_torch = unittest.skipUnless(
    importlib.util.find_spec("torch"),
    "SKIPPED: python3-torch is not installed")


def make_files(count=FILES, size=FILE_BYTES):
    """A folder of files that are written back, if there is a disk."""
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

    def assert_cold(self, messages, bytes_per_sample=FILE_BYTES):
        """Each sample's bytes came from storage."""
        expected = samples_after_first(messages) * bytes_per_sample
        read = grown(messages, "read_bytes")
        # Batches that workers had prefetched when the first message was sent.
        slack = 8 * 4 * bytes_per_sample
        self.assertGreater(expected, slack)
        self.assertGreater(read, expected - slack)
        self.assertLess(read, expected * 1.1 + slack)

    def assert_from_memory(self, messages):
        """No file came from storage. Under memory pressure the kernel also
        counts pages of the processes' own code, mostly of new workers."""
        self.assertLess(grown(messages, "read_bytes"), FILE_BYTES)

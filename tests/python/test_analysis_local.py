"""The real penstock analyze --local, with unmodified PyTorch training."""

import json
import os
import subprocess
import sys
import unittest

from analysis_case import FILE_BYTES, FILES, TORCH, FilesCase, needs_torch
from fake_daemon import socket_folder

PENSTOCK = os.environ.get("PENSTOCK_PROGRAM", "")
STEP_S = 0.008  # of the emulated accelerator, per batch of 4
LOAD_S = 0.001  # of CPU, per sample
TRAIN = TORCH + f"""
class Images(Files):
    factor = 1
    def __getitem__(self, index):
        item = super().__getitem__(index)
        end = time.thread_time() + {LOAD_S} * self.factor
        while time.thread_time() < end:
            pass
        return item
"""
ONE = TRAIN + f"""
import signal
def save(*_):
    open(os.path.join(DATA, "checkpoint"), "w").close()
signal.signal(signal.SIGTERM, save)
loader = DataLoader(Images(), 4, shuffle=True, num_workers=1)
for epoch in range(1000):
    for batch in penstock.watch(loader):
        time.sleep({STEP_S})
save()
"""
TWO = TRAIN + f"""
import torch.distributed as dist
from torch.utils.data import DistributedSampler
rank = int(os.environ["RANK"])
dist.init_process_group("gloo", init_method="file://" + sys.argv[2],
                        rank=rank, world_size=2)
data = Images()
data.factor = 1 + 3 * rank
loader = DataLoader(data, 4, sampler=DistributedSampler(data), num_workers=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
for epoch in range(1000):
    loader.sampler.set_epoch(epoch)
    for batch in penstock.watch(loader):
        time.sleep({STEP_S})
        model(batch[:, :1].float()).sum().backward()
"""
LAUNCH = """for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 "$0" -c "$1" "$2" "$3" &
done
wait"""


@needs_torch
@unittest.skipUnless(PENSTOCK, "SKIPPED: PENSTOCK_PROGRAM is not set")
class LocalTest(FilesCase):
    def penstock(self, *command, budget="8s"):
        return subprocess.run(
            [PENSTOCK, "analyze", "--local", "--json", "--budget", budget,
             "--cores", "1", "--", *command],
            capture_output=True, text=True, timeout=90,
            env={**os.environ, "PENSTOCK_SOCKET": "/nowhere/penstockd.sock",
                 "OMP_NUM_THREADS": "1"})

    def figures(self, *command, **parts):
        done = self.penstock(*command, **parts)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_loop_is_measured_as_it_is(self):
        found = self.figures(sys.executable, "-c", ONE, self.folder.name)
        self.assertEqual((found["source"], found["ranks"]),
                         ("python watch", 1))
        ceiling = found["ceiling"]["value"]
        self.assertLess(ceiling, 4 / STEP_S)
        self.assertGreater(ceiling, 0.6 * 4 / STEP_S)
        self.assertLess(found["prep"][0]["value"], 1 / LOAD_S)
        self.assertLess(found["prep_per_core"], 1 / LOAD_S)
        self.assertAlmostEqual(
            found["bytes_per_sample"] / FILE_BYTES, 1, delta=0.15)
        self.assertAlmostEqual(found["dataset_bytes"],
                               found["bytes_per_sample"] * FILES)
        self.assertGreater(found["memory_bytes_per_s"], 1e8)
        if self.drops:
            self.assertLess(found["fetch"]["value"], 1 / LOAD_S)
        self.assertEqual(sorted(os.listdir(self.folder.name))[-1],
                         f"{FILES - 1:03}")  # no checkpoint was written

    def test_ranks_that_wait_for_each_other_are_told_apart(self):
        folder = socket_folder()
        self.addCleanup(folder.cleanup)
        found = self.figures("sh", "-c", LAUNCH, sys.executable, TWO,
                             self.folder.name,
                             os.path.join(folder.name, "meet"), budget="12s")
        self.assertEqual(found["ranks"], 2)
        # The ranks share the machine.
        cpus = len(os.sched_getaffinity(0))
        self.assertEqual(found["cpus"], cpus / 2)
        first, second = found["by_rank"]
        self.assertEqual((first["rank"], second["rank"]), (0, 1))
        self.assertAlmostEqual(first["ceiling"] / second["ceiling"], 1,
                               delta=0.1)
        self.assertGreater(first["prep"], 1.5 * second["prep"])
        self.assertEqual(found["slowest_rank"], 1)
        self.assertEqual(found["prep"][-1]["value"], second["prep"])

    def test_less_data_than_a_batch(self):
        script = TORCH + """
for batch in penstock.watch(DataLoader(Files(), 64, drop_last=True)):
    pass
"""
        done = self.penstock(sys.executable, "-c", script, self.folder.name)
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"has {FILES} samples, less than the 64 of a batch",
                      done.stderr)


if __name__ == "__main__":
    unittest.main()

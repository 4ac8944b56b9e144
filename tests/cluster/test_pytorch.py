"""An unmodified PyTorch training loop except for one line, with its own
DataLoader and worker processes, gains from lending (Debian's python3-torch)."""

import importlib.util
import json
import pathlib
import shutil
import statistics
import sys
import unittest

import agent_case
import embedded

TRAIN = """
import json, sys, time
sys.path.insert(0, {module!r})
import torch, penstock
from torch.utils.data import DataLoader, Dataset

class Busy(Dataset):
    def __len__(self):
        return 1 << 20
    def __getitem__(self, index):
        end = time.thread_time() + 0.004
        x = torch.zeros(64)
        while time.thread_time() < end:
            x = torch.sin(x + index)
        return x

if __name__ == "__main__":  # workers may import this file (Python 3.14)
    torch.set_num_threads(1)
    model = torch.nn.Linear(64, 8)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    log = open({log!r}, "w", buffering=1)
    start, samples = time.monotonic(), 0
    for batch in penstock.watch(DataLoader(Busy(), batch_size=8, num_workers=2)):
        opt.zero_grad()
        model(batch).sum().backward()
        opt.step()
        samples += len(batch)
        log.write(json.dumps({{"t_monotonic": time.monotonic(),
                               "samples": samples}}) + "\\n")
        if time.monotonic() - start > 900:
            break
"""


PAIRS = 3


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class PyTorch(agent_case.AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.module = pathlib.Path(cls.cluster.directory, "bin", "python")
        source = pathlib.Path(__file__).resolve().parents[2]
        shutil.copytree(source / "libpenstock" / "python", cls.module)

    def start_torch(self, name):
        """Submits the PyTorch job; waits until it runs."""
        home = self.cluster.home()
        script = pathlib.Path(home, f"{name}.py")
        script.write_text(TRAIN.format(module=str(self.module),
                                       log=f"{home}/{name}.log"))
        job = self.cluster.sbatch([sys.executable, script],
                                  flags=["--loader=auto"])
        self.cluster.wait_job(job, "RUNNING")
        return job

    def compare(self, name, job):
        """Penstock / stock of the job's rate: the median of alternating
        intervals."""
        ratios = []
        # On an emulated machine the import of torch takes minutes.
        self.wait_away(job, 120)
        for _ in range(PAIRS):
            self.wait_away(job, 60)
            self.rate(name, 1)
            lent = self.rate(name, 6)
            self.cluster.stop_agent()
            self.rate(name, 1)
            stock = self.rate(name, 6)
            self.cluster.start_agent()
            ratios.append(lent / stock)
        print(json.dumps({"job": name, "ratios": ratios}), flush=True)
        return statistics.median(ratios)

    def test_workers_borrow_and_the_job_gains(self):
        job = self.start_torch("gains")
        # PyTorch takes its two workers' batches in turn: an away worker with
        # less than half a CPU would delay the other one, and is recalled.
        lender = self.start_pausing("gainslender", 5, 10)
        gain = self.compare("gains", job)
        if embedded.PATIENCE == 1:  # emulated CPUs share fewer real ones
            self.assertGreater(gain, 1.2)
        self.cluster.cancel(job, lender)
        self.check_nothing_left()

    @unittest.skipIf(embedded.PATIENCE > 1, "SKIPPED: an emulated lender takes "
                     "longer than a second to be seen idle")
    def test_a_lender_that_toggles_every_second_does_no_harm(self):
        job = self.start_torch("toggled")
        lender = self.start_pausing("toggler", 1000, 1000)
        self.assertGreaterEqual(self.compare("toggled", job), 0.97)
        self.cluster.cancel(job, lender)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()

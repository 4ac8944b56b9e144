"""A real PyTorch training loop, its own DataLoader with worker processes,
gains from lending: Debian's python3-torch, nothing changed but one line."""

import importlib.util
import pathlib
import sys
import unittest

import agent_case

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
    if time.monotonic() - start > 90:
        break
"""


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class PyTorch(agent_case.AgentCase):
    def test_workers_borrow_and_the_job_gains(self):
        module = pathlib.Path(self.cluster.directory, "bin", "python")
        source = pathlib.Path(__file__).resolve().parents[2]
        self.cluster.command("cp", "-r",
                             str(source / "libpenstock" / "python"),
                             str(module))
        script = pathlib.Path(self.cluster.home(), "train.py")
        script.write_text(TRAIN.format(
            module=str(module), log=f"{self.cluster.home()}/torch.log"))
        job = self.cluster.sbatch([sys.executable, script],
                                  flags=["--loader=auto"])
        self.cluster.wait_job(job, "RUNNING")
        lender = self.submit("torchlender", 1 / 3)
        self.wait_away(job, 60)
        self.rate("torch", 3)
        ratios = []
        for _ in range(3):
            lent = self.rate("torch", 5)
            self.cluster.stop_agent()
            self.rate("torch", 1)
            stock = self.rate("torch", 5)
            self.cluster.start_agent()
            self.wait_away(job, 30)
            self.rate("torch", 1)
            ratios.append(lent / stock)
        print("penstock / stock:", ratios)
        self.assertGreater(sorted(ratios)[1], 1.2)
        self.cluster.cancel(job, lender)
        self.check_nothing_left()


if __name__ == "__main__":
    agent_case.main()

"""Worker processes of an unmodified PyTorch script that follow the grant."""

import importlib.util
import json
import pathlib
import unittest

import agent_case
import python_jobs

WORKERS = 4
# A line of the log for each batch: the processes of its samples.
TRAIN = """
import json, os, time
import torch
from torch.utils.data import DataLoader, Dataset

class Busy(Dataset):
    def __len__(self):
        return 1 << 20
    def __getitem__(self, index):
        end = time.thread_time() + 0.004
        while time.thread_time() < end:
            pass
        return torch.tensor([os.getpid(), index])

torch.set_num_threads(1)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
with open({log!r}, "w", buffering=1) as log:
    for batch in DataLoader(Busy(), batch_size=4, num_workers={workers}):
        model(batch[:, 1:].float()).sum().backward()
        optimizer.step()
        print(json.dumps(batch[:, 0].tolist()), file=log)
"""
RECENT = 30  # batches


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class ElasticWorkers(python_jobs.JobsOfPython):
    def start_training(self, name, *flags):
        self.log = pathlib.Path(self.cluster.home(), f"{name}.log")
        return self.start_python(name, TRAIN, flags, log=str(self.log),
                                 workers=WORKERS)

    def working(self):
        """Processes that made the latest batches."""
        if not self.log.exists():
            return 0
        lines = self.log.read_text("ascii").splitlines()[-RECENT - 1:-1]
        if len(lines) < RECENT:
            return 0
        return len({pid for line in lines for pid in json.loads(line)})

    def wait_working(self, processes):
        self.wait(f"{processes} working processes",
                  lambda: self.working() == processes, 60)

    def test_as_many_processes_work_as_cpus_are_granted(self):
        other = self.start_pausing("full", 1000, 0, gpus=0)
        self.start_training("exact", "--loader-elastic=exact")
        self.wait_working(1)
        self.cluster.cancel(str(other))
        idle = self.start_pausing("idle", 5, 95, gpus=0)
        self.wait_working(2)
        self.cluster.cancel(str(idle))
        self.start_pausing("again", 1000, 0, gpus=0)
        self.wait_working(1)

    def test_all_work_in_a_job_that_does_not_ask(self):
        self.start_pausing("full", 1000, 0, gpus=0)
        self.start_training("stock")
        self.wait_working(WORKERS)


if __name__ == "__main__":
    agent_case.main()

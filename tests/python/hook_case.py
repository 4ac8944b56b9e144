"""Interpreters that run with the hook on PYTHONPATH."""

import os
import pathlib
import subprocess
import sys
import tempfile

import penstock
from watch_case import DaemonTestCase

HOOK = pathlib.Path(penstock.__file__).parents[1] / "hook"

TRAINING = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset

def data(size):
    return TensorDataset(torch.arange(float(size)).reshape(size, 1))

def train(loader, optimizer, every=1):
    for index, batch in enumerate(loader):
        model(batch[0]).sum().backward()
        if index % every == every - 1:
            optimizer.step()
            optimizer.zero_grad()

model = torch.nn.Linear(1, 1)
"""

ONE_EPOCH = TRAINING + """
train(DataLoader(data(24), 4), torch.optim.SGD(model.parameters(), 1e-4))
print("trained")
"""


class HookCase(DaemonTestCase):
    def setUp(self):
        super().setUp()
        self.daemon, self.client = self.connect()
        self.client.close()
        folder = tempfile.TemporaryDirectory(prefix="penstock-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_python(self, *arguments, path=(), program=sys.executable, **more):
        """Runs Python with the hook, then more folders, on PYTHONPATH."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, (HOOK, *path))),
            "PENSTOCK_SOCKET": self.path,
            "PENSTOCK_DEBUG": "1",
            **more,
        }
        return subprocess.run(
            [program, *map(str, arguments)], env=environment, cwd=self.folder,
            capture_output=True, text=True, timeout=100)

    def outputs(self, *arguments, **more):
        """Stdout, stderr and exit code."""
        done = self.run_python(*arguments, **more)
        return done.stdout, done.stderr, done.returncode

    def check(self, samples, steps):
        page = self.daemon.progress_page
        if page is None:
            return self.assertEqual((samples, steps), (0, 0))
        page = self.daemon.progress()
        self.assertEqual((page["samples"], page["steps"]), (samples, steps))

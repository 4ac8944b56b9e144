"""Training scripts that know nothing of Penstock, measured by the hook."""

import importlib.util
import unittest

import agent_case
import python_jobs

TRAIN = """
import json, os, time
import torch
from torch.utils.data import DataLoader, TensorDataset

model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
data = TensorDataset(torch.arange(480.0).reshape(480, 1))
train = DataLoader(data, batch_size=8, shuffle=True, num_workers=1)
check = DataLoader(data, batch_size=32)
for epoch in range(2):
    for x, in train:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    with torch.no_grad():
        for x, in check:
            model(x)
with open({told!r} + ".part", "w") as file:
    json.dump("trained", file)
os.rename({told!r} + ".part", {told!r})
time.sleep(120)
"""
SAMPLES = 960


class Unmodified(python_jobs.JobsOfPython):
    def trained(self, name, flags=()):
        """The job, once it has trained."""
        told = f"{self.cluster.home()}/{name}.json"
        job = self.start_python(name, TRAIN, flags, told=told)
        self.told(name, 60)
        return job

    def quality(self, job):
        return self.cluster.status(job)["quality"]

    def samples(self, job):
        return self.quality(job)["samples"]

    def check_unseen(self, job, why):
        """After penstockd has looked at the trained job."""
        before = self.quality(job)["periods"]
        self.wait("two more periods", lambda: self.quality(job)["periods"]
                  >= before + 2)
        self.assertFalse(self.samples(job))
        self.assertEqual(self.quality(job)["counted"], why)


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class Measured(Unmodified):
    def test_the_training_loaders_samples_are_counted_exactly(self):
        job = self.trained("trained")
        self.wait("all samples", lambda: self.samples(job) == SAMPLES, 15)
        self.assertEqual(self.quality(job)["counted"], "hook")

    def test_a_user_refuses(self):
        self.check_unseen(self.trained("refused", ["--loader-watch=off"]),
                          "user_off")


@unittest.skipUnless(importlib.util.find_spec("torch"),
                     "SKIPPED: python3-torch is not installed")
class Refused(Unmodified):
    cluster_options = {"agent": True, "agent_lines": ("Watch=off",)}

    def test_a_site_refuses(self):
        self.check_unseen(self.trained("off"), "site_off")


if __name__ == "__main__":
    agent_case.main()

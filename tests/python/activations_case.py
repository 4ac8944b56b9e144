"""Models and plans for the tests of penstock.exchange's activations. The
tests are skipped without PyTorch."""

import sys
import unittest

try:
    import torch
    from torch import nn
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

from penstock.exchange._activations import Activations, default_layers
from penstock.exchange._activations_cost import Action, Allowance
from penstock.exchange._activations_plan import Plan
from penstock.exchange._tiers import RatedHostTier

RATE = 4e9  # bytes/s
WIDE = 1 << 30  # bytes in transit: no limit
MOVED = (Action.OFFLOAD, Action.RECOMPUTE, Action.RECOMPUTE_OFFLOAD)
torch.set_num_threads(1)


class Block(nn.Module):
    """A block that changes its buffers, draws random numbers, and writes in
    place."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.dropout = nn.Dropout(0.3)

    def forward(self, images, *, scale=1.0):
        inner = self.dropout(torch.relu_(self.norm(self.conv(images))))
        return torch.tanh(images + scale * inner)


class Net(nn.Module):
    def __init__(self, blocks=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList([Block() for _ in range(blocks)])
        self.head = nn.Linear(8, 10)

    def forward(self, images):
        images = self.stem(images)
        for block in self.blocks:
            images = block(images, scale=0.5)
        return self.head(images.mean((2, 3)))


class Runs(nn.Module):
    """A module that runs a function."""

    def __init__(self, work):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))
        self.work = work

    def forward(self, value):
        return self.work(value * self.weight)


def large():
    return torch.randn(1 << 15, requires_grad=True)


def plan_of(action, model, moving_bytes=WIDE):
    allowance = Allowance(moving_bytes, moving_bytes, moving_bytes)
    return Plan(
        {name: action for name in default_layers(model)},
        {name: allowance for name in default_layers(model)},
    )


def train(model, steps, images=16):
    """Trains; returns the last gradients, the buffers, and the next random
    number."""
    torch.manual_seed(3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        outputs = model(torch.randn(images, 3, 16, 16))
        nn.functional.cross_entropy(
            outputs, torch.randint(10, (images,))
        ).backward()
        optimizer.step()
    return [
        *(one.grad.clone() for one in model.parameters()),
        *(one.clone() for one in model.buffers()),
        torch.rand(1),
    ]


class ActivationsCase(unittest.TestCase):
    def setUp(self):
        self.tier = RatedHostTier(RATE)
        self.addCleanup(self.tier.close)

    def acting(self, action, model, moving_bytes=WIDE):
        return Activations(
            plan=plan_of(action, model, moving_bytes), tier=self.tier
        ).attached(model)

    def assert_same(self, results, others):
        self.assertEqual(len(results), len(others))
        for result, other in zip(results, others):
            self.assertTrue(torch.equal(result, other))


__all__ = [
    "MOVED",
    "RATE",
    "WIDE",
    "ActivationsCase",
    "Net",
    "Runs",
    "large",
    "nn",
    "plan_of",
    "torch",
    "train",
]

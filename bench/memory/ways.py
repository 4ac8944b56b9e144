"""Ways to train the same model on the same batch."""

import contextlib
import gc
import time

import torch
from bench.memory import models
from bench.memory.device import device
from penstock.exchange import MirrorTrainer
from penstock.exchange._activations import (
    Activations,
    default_layers,
    measure_link,
)
from penstock.exchange._activations_cost import Action
from penstock.exchange._activations_plan import Plan, choose
from penstock.exchange._tiers import HostTier, RatedHostTier

NAMES = ("plain", "mirror", "recompute", "planned")


class Training:
    """One model that can be trained in all ways by turns."""

    def __init__(self, kind, batch, link_bytes_per_s):
        """link_bytes_per_s: of the host tier that emulates a device's."""
        torch.set_num_threads(1)
        torch.manual_seed(1)
        self.device = device()
        self.model = models.MODELS[kind]().to(self.device.name)
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self._batch = [one.to(self.device.name)
                       for one in models.make_batch(kind, batch)]
        self.tier = (HostTier() if self.device.name == "cuda"
                     else RatedHostTier(link_bytes_per_s))

    def plan(self, budget_bytes):
        """Returns a plan, made as by Activations."""
        activations = Activations(budget_bytes=budget_bytes, tier=self.tier)
        with activations.attached(self.model):
            while not activations.layers:
                self._step()
        return choose(activations.layers, budget_bytes,
                      measure_link(self.tier))

    def way(self, name, plan=None):
        """Returns a context in which step() trains this way."""
        if name == "plain":
            return contextlib.nullcontext()
        if name == "recompute":
            plan = Plan({layer: Action.RECOMPUTE
                         for layer in default_layers(self.model)})
        activations = plan and Activations(plan=plan, tier=self.tier)
        return contextlib.closing(MirrorTrainer(
            self.model, self._optimizer, transport="self",
            activations=activations))

    def step(self):
        """Returns the step's time in seconds and its peak in bytes."""
        gc.collect()
        self.device.reset_peak()
        self.device.synchronize()
        begin_s = time.perf_counter()
        self._step()
        self.device.synchronize()
        return time.perf_counter() - begin_s, self.device.peak_bytes()

    def _step(self):
        inputs, targets = self._batch
        self._optimizer.zero_grad(set_to_none=True)
        models.loss(self.model(inputs), targets).backward()
        self._optimizer.step()

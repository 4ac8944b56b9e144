"""Offloads or recomputes activations between a layer's two passes."""

import collections
import contextlib
import functools
import itertools
import logging
import sys
import time
from typing import Any, Callable, Collection, Iterable, Iterator

import torch
from torch.autograd.graph import saved_tensors_hooks

from penstock.exchange._activations_cost import Action, Allowance, Layer
from penstock.exchange._activations_measure import Meter
from penstock.exchange._activations_plan import Plan, choose
from penstock.exchange._activations_recompute import (
    RecomputedCall,
    is_recomputing,
)
from penstock.exchange._activations_saved import (
    SMALL_BYTES,
    Kept,
    Offloader,
    storage_of,
)
from penstock.exchange._tiers import HostTier

_LOG = logging.getLogger("penstock.exchange")
_PROBE_BYTES = 32 << 20  # bytes copied to measure a link
_UNBOUNDED = Allowance(sys.maxsize, sys.maxsize, sys.maxsize)


def default_layers(model: torch.nn.Module) -> list[str]:
    """Returns the largest modules that are neither module lists nor in-place
    modules. An in-place module saves the same tensor as its successor."""
    found = []
    for name, module in model.named_children():
        if isinstance(module, (torch.nn.Sequential, torch.nn.ModuleList)):
            found += [f"{name}.{below}" for below in default_layers(module)]
        elif not getattr(module, "inplace", False):
            found.append(name)
    return found


def measure_link(tier: Any) -> float:
    """Returns the round-trip copy rate of a tier in bytes/s."""
    source = torch.empty(_PROBE_BYTES, dtype=torch.uint8, device=tier.device)
    rates = []
    for _ in range(3):
        tier.synchronize()
        begin_s = time.perf_counter()
        buffer, out = tier.copy_out(source)
        out.finish()
        back = tier.copy_in(buffer)
        back.finish()
        rates.append(2 * _PROBE_BYTES / (time.perf_counter() - begin_s))
        tier.arena.retire(buffer, [out.done, back.done])
    return sorted(rates)[1]


class Activations:
    """Makes a model's layers offload or recompute their saved activations.

    Takes either a plan or a memory budget. With a budget, the first steps are
    measured, and the plan is derived from the measurements.

        with Activations(budget_bytes=2 << 30).attached(model):
            for batch, target in data:
                loss(model(batch), target).backward()
                ...

    MirrorTrainer accepts an instance as activations=. Gradients equal those of
    plain training, bit for bit. A recomputed layer must be deterministic for
    the same arguments and random numbers. It does not support
    backward(create_graph=True).
    """

    def __init__(
        self,
        *,
        budget_bytes: int | None = None,
        plan: Plan | None = None,
        layers: Iterable[str] | None = None,
        tier: Any = None,
    ):
        """budget_bytes: limit for activations and their gradients on the
        device. An operation's temporaries are extra. layers: module names as in
        named_modules(); no named module may contain another. Default: the
        largest modules that are not module lists. tier: offload target.
        Default: the host of a GPU. A model on the CPU has no default tier; its
        layers only keep or recompute.

        Raises ValueError unless exactly one of budget_bytes and plan is given.
        """
        if (budget_bytes is None) == (plan is None):
            raise ValueError("give either budget_bytes or plan")
        self._budget_bytes = budget_bytes
        self._names = None if layers is None else list(layers)
        self._tier, self._owns_tier = tier, tier is None
        self._offloader: Offloader | None = None
        self._layers: dict[str, torch.nn.Module] = {}
        self._meter = Meter(self._synchronize, lambda: self.wait_s)
        self.plan = plan

    def __deepcopy__(self, _: Any) -> "Activations":
        """Copies of the model share this instance, because their layers call
        it."""
        return self

    def attach(self, model: torch.nn.Module) -> None:
        """Raises ValueError for missing or unsupported layers, and for a plan
        of other layers. If no plan meets the budget, the first forward pass
        after the measured steps raises BudgetError."""
        if self._layers:
            raise ValueError("attached already: detach() first")
        layers = find_layers(model, self._names)
        if self._tier is None:
            self._tier = _default_tier(model)
        self._meter = Meter(self._synchronize, lambda: self.wait_s)
        self._kept = _addresses(model)
        if self.plan is not None:
            self._prepare(self.plan, layers)
        elif self._tier is not None:
            self._offloader = Offloader(self._tier, self._kept)
        for name, layer in layers.items():
            if not self._keeps(name):
                layer.forward = functools.partial(
                    self._run, name, layer, layer.forward
                )
        self._layers = layers

    def detach(self) -> None:
        """Restores the layers. Backward passes already in progress still get
        their saved tensors."""
        for layer in self._layers.values():
            layer.__dict__.pop("forward", None)
        self._layers = {}
        if self._owns_tier and self._tier is not None:
            self._tier.close()
            self._tier = None

    @contextlib.contextmanager
    def attached(self, model: torch.nn.Module) -> Iterator["Activations"]:
        self.attach(model)
        try:
            yield self
        finally:
            self.detach()

    @property
    def layers(self) -> list[Layer]:
        """Returns the measured layers; empty until the first steps have
        ended."""
        return self._meter.layers() if self._meter.is_done() else []

    @property
    def wait_s(self) -> float:
        """Returns the seconds that the computation has waited for the link."""
        return self._offloader.wait_s if self._offloader is not None else 0.0

    def _synchronize(self) -> None:
        if self._tier is not None:
            self._tier.synchronize()

    def _pack(self, tensor: torch.Tensor) -> Any:
        if self._offloader is None:
            return Kept(tensor)
        return self._offloader.pack(tensor)

    def _keeps(self, name: str) -> bool:
        return (
            self.plan is not None
            and self.plan.actions.get(name, Action.KEEP) is Action.KEEP
        )

    def _prepare(self, plan: Plan, layers: Collection[str]) -> None:
        unknown = plan.actions.keys() - layers
        if unknown:
            raise ValueError(f"the plan is for {min(unknown)}: not a layer here")
        moving = (Action.OFFLOAD, Action.RECOMPUTE_OFFLOAD)
        if any(action in moving for action in plan.actions.values()):
            if self._tier is None:
                raise ValueError("the plan offloads, and there is no tier")
            self._offloader = Offloader(self._tier, self._kept)

    def _make_plan(self) -> None:
        link = measure_link(self._tier) if self._tier is not None else None
        _LOG.info(
            "activations: looking for a plan for %d layers within %d bytes",
            len(self._layers),
            self._budget_bytes,
        )
        plan = choose(self._meter.layers(), self._budget_bytes, link)
        _LOG.info("activations: %s", _said(plan))
        self._prepare(plan, self._layers)
        self.plan = plan
        for name, layer in self._layers.items():
            if self._keeps(name):
                layer.__dict__.pop("forward", None)

    def _run(
        self,
        name: str,
        layer: torch.nn.Module,
        forward: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        if is_recomputing() or not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        if self.plan is None:
            if not self._meter.is_done():
                self._begin(name)
                return self._meter.run(
                    name, layer, forward, (args, kwargs), self._kept, self._pack
                )
            self._make_plan()
        if self._keeps(name):
            return forward(*args, **kwargs)
        action = self.plan.actions[name]
        begin_again = self._begin(name)
        if action is Action.OFFLOAD:
            with saved_tensors_hooks(self._pack, lambda packed: packed.get()):
                return forward(*args, **kwargs)
        if action is Action.RECOMPUTE:
            call = RecomputedCall(name, layer, self._kept, begin_again)
            return call.run(forward, (args, kwargs), Kept)
        call = RecomputedCall(name, layer, self._kept)
        return call.run(forward, (args, kwargs), self._pack)

    def _begin(self, name: str) -> Callable[[], None]:
        """Begins a layer's forward pass. Returns the function that its backward
        pass calls first if that pass needs no offloaded tensors."""
        offloader = self._offloader
        if offloader is None:
            return lambda: None
        if self.plan is not None:
            allowance = self.plan.allowances.get(name, _UNBOUNDED)
        else:
            some_bytes = self._budget_bytes // 8
            allowance = Allowance(some_bytes, some_bytes, some_bytes)
        place = offloader.begin(allowance)
        return lambda: offloader.reach(place, allowance)


def find_layers(
    model: torch.nn.Module, names: Iterable[str] | None
) -> dict[str, torch.nn.Module]:
    known = dict(model.named_modules())
    chosen = {}
    for name in default_layers(model) if names is None else names:
        if name not in known:
            raise ValueError(f"layer {name}: the model has no such module")
        if isinstance(known[name], torch.jit.ScriptModule):
            raise ValueError(f"layer {name}: a script cannot be managed")
        if "forward" in known[name].__dict__:
            raise ValueError(
                f"layer {name}: its forward has been replaced, perhaps by "
                "another Activations; detach that first"
            )
        chosen[name] = known[name]
    for name, module in chosen.items():
        for inner, other in chosen.items():
            if other is not module and any(one is other for one in module.modules()):
                raise ValueError(f"layer {inner}: is inside {name}; name one")
    return chosen


def _said(plan: Plan) -> str:
    counts = collections.Counter(one.value for one in plan.actions.values())
    layers = ", ".join(f"{n} {action}" for action, n in sorted(counts.items()))
    return (
        f"of the layers {layers}; a step of {plan.cost.step_s:.3g} s with "
        f"{plan.cost.peak_bytes} bytes at most is expected"
    )


def _addresses(model: torch.nn.Module) -> set[int]:
    """Returns the addresses of storages that stay on the device in any case.
    Small buffers are excluded, because a second forward pass gets copies of
    them."""
    large = (
        one
        for one in model.buffers()
        if one.numel() * one.element_size() >= SMALL_BYTES
    )
    return {
        storage_of(one)._cdata
        for one in itertools.chain(model.parameters(), large)
    }


def _default_tier(model: torch.nn.Module) -> HostTier | None:
    devices = {one.device for one in model.parameters()}
    if len(devices) == 1 and min(devices, key=str).type == "cuda":
        return HostTier(devices.pop())
    return None

"""Gradient exchange as a communication hook of DistributedDataParallel."""

from typing import Any

import torch
import torch.distributed
from torch import Tensor
from torch.distributed import GradBucket
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from penstock.exchange import _native
from penstock.exchange._exchange import Exchange
from penstock.exchange._layers import Layer
from penstock.exchange._options import ExchangeOptions
from penstock.exchange._state import ExchangeOwner

# DDP reassigns parameters to buckets after the first step.
_DENSE_STEPS = 2


class DdpState(ExchangeOwner):
    """The state of ddp_hook():

        state = penstock.exchange.DdpState(ddp)
        ddp.register_comm_hook(state, penstock.exchange.ddp_hook)

    Residuals belong to parameters, not to buckets.
    """

    def __init__(self, ddp: DistributedDataParallel, **options: Any):
        """Collective: all ranks call it together. options: fields of
        ExchangeOptions. Raises ValueError on all ranks if the model cannot be
        exchanged."""
        self._exchange = Exchange(
            ddp.module, ExchangeOptions(**options), _refusals(ddp)
        )
        self._group = ddp.process_group
        ranks = torch.distributed.get_world_size(self._group)
        if ranks != self._exchange.size:
            raise ValueError(
                f"DDP has {ranks} ranks, the exchange {self._exchange.size}: "
                "start all of DDP's with mpirun or srun, and nothing else"
            )
        self._layers = {
            id(layer.parameter): layer for layer in self._exchange.layers
        }
        self._updates = {
            layer: _native.Update.replaces(self._exchange.place.native)
            for layer in self._exchange.layers
        }
        self._promised: list[tuple[Future, Tensor]] = []
        self._steps = 0

    def exchange_bucket(self, bucket: GradBucket) -> Future[Tensor]:
        is_last = bucket.is_last()
        is_dense = self._steps < _DENSE_STEPS
        self._steps += is_last
        if is_dense or self._exchange.size == 1:
            return self._dense_mean(bucket.buffer())
        for parameter, gradient in zip(
            bucket.parameters(), bucket.gradients()
        ):
            self._submit(self._layers[id(parameter)], gradient)
        device = self._exchange.place.device
        promise: Future[Tensor] = Future(
            devices=[device] if device.type == "cuda" else None
        )
        self._promised.append((promise, bucket.buffer()))
        if is_last:
            self._keep_promises()
        return promise

    def _dense_mean(self, buffer: Tensor) -> Future[Tensor]:
        size = self._exchange.size
        work = torch.distributed.all_reduce(
            buffer, group=self._group, async_op=True
        )
        return work.get_future().then(lambda sum_: sum_.value()[0].div_(size))

    def _submit(self, layer: Layer, gradient: Tensor) -> None:
        update = self._updates[layer]
        mean = 1 / self._exchange.size
        update.set(gradient.data_ptr(), gradient.numel(), mean)
        self._exchange.submit(layer, gradient, update)

    def _keep_promises(self) -> None:
        self._exchange.wait_all()
        self._exchange.tell_stall()
        for promise, mean in self._promised:
            promise.set_result(mean)
        self._promised.clear()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "ddp_steps": self._steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._steps = state["ddp_steps"]


def ddp_hook(state: DdpState, bucket: GradBucket) -> Future[Tensor]:
    """Hook for DistributedDataParallel.register_comm_hook().

    Gradients become the mean over ranks of the exchanged elements. The
    remaining elements stay in residuals for later steps. Buckets stay in
    memory, because DDP needs them; MirrorTrainer frees them. A GradScaler must
    not change its scale between steps, because residuals are scaled too."""
    return state.exchange_bucket(bucket)


def _refusals(ddp: DistributedDataParallel) -> list[str]:
    if ddp.find_unused_parameters:
        return [
            "find_unused_parameters=True: what a step does not use loses what "
            "was exchanged for it; freeze it with requires_grad_(False)"
        ]
    return []

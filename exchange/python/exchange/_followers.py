"""Updates weights from gradients, layer by layer."""

from typing import Protocol

import torch
from torch import Tensor, nn

from penstock.exchange import _native
from penstock.exchange._exchange import Exchange
from penstock.exchange._layers import Layer
from penstock.exchange._stepper import Stepper


class Follower(Protocol):
    def follow(self, layer: Layer, gradient: Tensor) -> None:
        """Takes ownership of this rank's gradient."""

    def finish(self) -> None:
        """Ends a step, after all gradients were given."""


class Alone:
    """One rank. Applies the optimizer to large layers at once, and to small
    layers in groups, because each call has a cost. Plain SGD is applied without
    the optimizer, whose calls cost most."""

    def __init__(self, stepper: Stepper, bucket_elements: int):
        self._stepper = stepper
        self._bucket_elements = bucket_elements
        self._bucket: list[tuple[nn.Parameter, Tensor]] = []
        self._elements = 0

    def follow(self, layer: Layer, gradient: Tensor) -> None:
        self._bucket.append((layer.parameter, gradient))
        self._elements += gradient.numel()
        if self._elements >= self._bucket_elements:
            self.finish()

    def finish(self) -> None:
        bucket, self._bucket, self._elements = self._bucket, [], 0
        with torch.no_grad():
            others = [one for one in bucket if not self._is_added(*one)]
        if others:
            parameters = [parameter for parameter, _ in others]
            self._stepper.step(others, self._stepper.groups_of(parameters))

    def _is_added(self, weights: nn.Parameter, gradient: Tensor) -> bool:
        """Applies a plain SGD update, if that is the whole step; returns
        whether it is."""
        group = self._stepper.settings_of(weights)
        if not self._stepper.is_plain_sgd(group) or group["weight_decay"]:
            return False
        weights.add_(gradient, alpha=-float(group["lr"]))
        return True


class Together:
    """Several ranks. With plain SGD the mean over ranks is added to the
    weights. Otherwise an optimizer steps with the mean, in memory for one
    gradient."""

    def __init__(self, stepper: Stepper, exchange: Exchange):
        self._stepper = stepper
        self._exchange = exchange
        self._onto_weights: dict[Layer, _native.Update] = {}
        self._scratch = torch.empty(0)

    def follow(self, layer: Layer, gradient: Tensor) -> None:
        group = self._stepper.group_of(layer.parameter)
        if self._stepper.is_plain_sgd(group):
            lr = float(group["lr"])
            update = self._sgd(layer, lr, float(group["weight_decay"]))
        else:
            update = self._optimizer_step(layer, gradient, group)
        _mark_changed(layer.parameter)
        self._exchange.submit(layer, gradient, update)

    def finish(self) -> None:
        self._exchange.free_gradients()

    def _sgd(
        self, layer: Layer, lr: float, weight_decay: float
    ) -> _native.Update:
        weights = layer.parameter
        if weight_decay:  # independent of other ranks
            weights.detach().mul_(1 - lr * weight_decay)
        if layer not in self._onto_weights:
            place = self._exchange.place
            self._onto_weights[layer] = _native.Update.adds(place.native)
        update = self._onto_weights[layer]
        factor = -lr / self._exchange.size
        update.set(weights.data_ptr(), weights.numel(), factor)
        return update

    def _optimizer_step(
        self, layer: Layer, gradient: Tensor, group: dict
    ) -> _native.Update:
        weights = layer.parameter
        # Sums in the gradient's memory need no other memory.
        is_kept = self._exchange.keeps_gradient(layer)
        mean = gradient if is_kept else self._room(weights.numel())
        mean = mean.view_as(weights)
        place = self._exchange.place

        def step() -> None:
            with place.apart():
                self._stepper.step([(weights, mean)], [group])

        update = _native.Update.replaces(place.native, step)
        update.set(mean.data_ptr(), mean.numel(), 1 / self._exchange.size)
        return update

    def _room(self, elements: int) -> Tensor:
        """Holds one layer at a time, because one thread at a time receives
        sums."""
        if self._scratch.numel() < elements:
            self._scratch = torch.empty(
                max(
                    layer.parameter.numel() for layer in self._exchange.layers
                ),
                device=self._exchange.place.device,
            )
        return self._scratch[:elements]


def _mark_changed(weights: Tensor) -> None:
    """Bumps autograd's version of the weights, which the library changes
    directly. A backward pass through the old weights then raises autograd's
    error."""
    weights.detach().view(-1)[:0].zero_()

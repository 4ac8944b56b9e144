"""MirrorTrainer: updates weights layer by layer as gradients become ready."""

import weakref
from typing import Any, Literal, Protocol

import torch
from torch import nn

from penstock.exchange._clipping import (
    allow_clipping_of,
    check_clipping,
    clip_layer,
    is_trained,
    refuse_clipping_of,
)
from penstock.exchange._exchange import Exchange
from penstock.exchange._followers import Alone, Follower, Together
from penstock.exchange._forward import ForwardWaits
from penstock.exchange._hooks import GradientHook
from penstock.exchange._layers import Layer, check_gradient
from penstock.exchange._optimizer_hold import OptimizerHold
from penstock.exchange._options import ExchangeOptions
from penstock.exchange._state import ExchangeOwner
from penstock.exchange._stepper import Stepper


class Activations(Protocol):
    """Keeps a model's activations elsewhere until the backward pass."""

    def attach(self, model: nn.Module) -> None: ...

    def detach(self) -> None: ...


class MirrorTrainer(ExchangeOwner):
    """Trains a model without holding all its gradients at once.

    Each gradient is taken as soon as it is computed, and then freed. Its
    exchange and the update of the layer's weights run in the background until a
    forward pass needs the weights. The training loop is unchanged:

        trainer = MirrorTrainer(model, optimizer)
        for images, labels in loader:
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()  # ends the step

    Every trained parameter takes part in every step. Code that reads weights
    outside a forward pass or model.state_dict() must call wait() first. Not
    thread-safe.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        clip_norm: float | None = None,
        clip: Literal["global", "layer"] = "global",
        activations: Activations | None = None,
        **options: Any,
    ):
        """Collective: all ranks call it together, with the same weights. Raises
        ValueError on all ranks if the model cannot be trained this way.

        clip_norm: limit for this rank's gradients; with clip="layer", for each
        gradient separately. options: fields of ExchangeOptions.
        """
        check_clipping(clip_norm, clip)
        self._model = model
        self._optimizer = optimizer
        self._clip_norm = clip_norm
        self._activations: Activations | None = None
        stepper = Stepper(optimizer)
        why_not = stepper.refusals(model)
        if isinstance(model, nn.parallel.DistributedDataParallel):
            why_not.append(
                "DistributedDataParallel exchanges gradients itself: give "
                "MirrorTrainer the model in it, or use ddp_hook"
            )
        if any(map(is_trained, model.parameters())):
            why_not.append("the model has a trainer already: close() that first")
        chosen = ExchangeOptions(**options)
        try:
            if activations is not None:
                activations.attach(model)
                self._activations = activations
        except (ValueError, RuntimeError) as error:
            why_not.append(str(error))
        try:
            self._exchange = Exchange(model, chosen, why_not)
        except BaseException:
            self._detach()
            raise
        self._waits: ForwardWaits | None = None
        self._follower: Follower = Alone(stepper, chosen.bucket_elements)
        if self._exchange.size > 1:
            self._waits = ForwardWaits(
                model, self._exchange.layers, self._exchange.wait
            )
            self._follower = Together(stepper, self._exchange)
        self._has_gradient: set[Layer] = set()
        self._install()

    def _install(self) -> None:
        self._hooks = [self._hook(layer) for layer in self._exchange.layers]
        refuse_clipping_of(self._exchange.layers)
        self._state_hooks = [
            self._model._register_state_dict_hook(lambda *_: self.wait()),
            self._model._register_load_state_dict_pre_hook(
                lambda *_: self.wait()
            ),
        ]
        self._hold = OptimizerHold(self._optimizer, self._end_step, self.wait)

    def _detach(self) -> None:
        if self._activations is not None:
            self._activations.detach()

    def _hook(self, layer: Layer) -> GradientHook:
        layer.parameter.grad = None
        trainer = weakref.ref(self)  # torch 1 does not collect nodes

        def take() -> None:
            held = trainer()
            if held is not None:
                held._take_or_fail(layer)

        return GradientHook(layer.parameter, take)

    def _take_or_fail(self, layer: Layer) -> None:
        try:
            self._take(layer)
        except Exception as error:
            self._exchange.fail(error)
            raise

    def _take(self, layer: Layer) -> None:
        gradient = layer.parameter.grad
        layer.parameter.grad = None
        if layer in self._has_gradient:
            raise RuntimeError(
                f"a second gradient of {layer.name} in one step: each is "
                "applied at once, so they cannot be accumulated; call "
                "optimizer.step() after each backward()"
            )
        if torch.is_grad_enabled():
            raise RuntimeError(
                "create_graph=True: gradients are applied and freed, nothing "
                "can be derived from them"
            )
        check_gradient(layer, gradient)
        self._has_gradient.add(layer)
        if self._clip_norm is not None:
            clip_layer(gradient, self._clip_norm)
        if self._waits is not None:
            self._waits.end_use(layer)
        self._follower.follow(layer, gradient)

    def _end_step(self, closure: Any = None, **options: Any) -> None:
        """Replaces the optimizer's step()."""
        if closure is not None:
            raise ValueError("optimizer.step() takes no closure here")
        if options or self._hold.has_scaler():
            raise RuntimeError(
                "a GradScaler multiplies gradients, which are applied before "
                "it can divide them: train without it, with bfloat16 where "
                "precision is to be lower"
            )
        without = [
            layer
            for layer in self._exchange.layers
            if layer not in self._has_gradient
        ]
        if without:
            error = _why_without(without)
            self._exchange.fail(error)
            raise error
        self._check_frozen()
        self._has_gradient.clear()
        self._follower.finish()
        self._exchange.tell_stall()

    def _check_frozen(self) -> None:
        """Raises RuntimeError if a parameter would silently stay untrained."""
        groups = self._optimizer.param_groups
        if all(one.grad is None for group in groups for one in group["params"]):
            return
        error = RuntimeError(
            "the optimizer has parameters with a gradient that were frozen, or "
            "not there, when the trainer was made: close it, and make it anew"
        )
        self._exchange.fail(error)
        raise error

    @property
    def rank(self) -> int:
        return self._exchange.rank

    @property
    def size(self) -> int:
        return self._exchange.size

    @property
    def planned_bytes(self) -> int:
        """Returns the bytes that the exchange holds on this rank: residuals and
        messages. On a GPU, counts its memory, which holds no messages."""
        return self._exchange.planned_bytes

    def wait(self) -> None:
        """Waits until all weights include the last step."""
        self._exchange.wait_all()

    def set_density(self, density: float) -> None:
        if self._has_gradient:
            raise RuntimeError(
                "set_density() between backward() and optimizer.step(): call "
                "it after the step"
            )
        super().set_density(density)

    def close(self) -> None:
        """Restores the model and the optimizer, with the weights of the last
        step. Collective: all ranks call it. A second call does nothing."""
        if not self._hooks:
            return
        try:
            self.wait()
        finally:
            self._uninstall()

    def _uninstall(self) -> None:
        for hook in (*self._hooks, *self._state_hooks):
            hook.remove()
        self._hooks = []
        if self._waits is not None:
            self._waits.close()
        allow_clipping_of(self._exchange.layers)
        self._hold.let_go()
        self._detach()
        self._exchange.close()


def _why_without(layers: list[Layer]) -> RuntimeError:
    name = layers[0].name
    # torch 1: the gradient of a cast parameter, which has no hook.
    if layers[0].parameter.grad is not None:
        return RuntimeError(
            f"{name} has been cast or moved: weights must stay float32 on "
            f"{layers[0].device}, as they were when the exchange was made"
        )
    return RuntimeError(
        f"{len(layers)} parameters got no gradient in this step, {name} for "
        "one: every rank needs all of them in every step; freeze with "
        "requires_grad_(False) what is not used, before the trainer is made"
    )

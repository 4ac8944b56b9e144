"""The state for resuming, besides weights and the optimizer's state."""

from typing import Any

import torch

from penstock.exchange import _native
from penstock.exchange._exchange import Exchange
from penstock.exchange._layers import Layer

_VERSION = 1


class ExchangeOwner:
    """The common part of DdpState and MirrorTrainer."""

    _exchange: Exchange

    @property
    def exchange_wait_s(self) -> float:
        """Returns the seconds that this rank has waited for exchanges."""
        return self._exchange.wait_s

    @property
    def exchanged_bytes(self) -> int:
        """Returns the bytes sent by this rank's exchange, so without the first
        dense steps of a DdpState."""
        return self._exchange.sent_bytes

    def set_density(self, density: float) -> None:
        """Sets the density from the next step on. Collective: all ranks call it
        between the same steps. A warm-up (25%, then 6% in the first tenth)
        brings the final loss nearer to that of dense training. Reallocates the
        exchange. On failure, raises ValueError on all ranks; the density is
        unchanged."""
        self._exchange.set_density(density)

    def state_dict(self) -> dict[str, Any]:
        """Returns this rank's state for resuming, besides the states of the
        model and the optimizer."""
        return _state_of(self._exchange)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Loads the state of the same rank. Raises ValueError for another
        rank's state."""
        _load_state(self._exchange, state)


def _state_of(exchange: Exchange) -> dict[str, Any]:
    """Returns this rank's state, for torch.save()."""
    exchange.wait_all()
    layers = exchange.layers if exchange.size > 1 else []
    with exchange.place.here():
        residuals = {layer.name: _of_layer(exchange, layer) for layer in layers}
    return {
        "version": _VERSION,
        "rank": exchange.rank,
        "size": exchange.size,
        "density": exchange.density,
        "layers": residuals,
    }


def _load_state(exchange: Exchange, state: dict[str, Any]) -> None:
    """Raises ValueError for the state of another rank or model."""
    if state.get("version") != _VERSION:
        raise ValueError(
            f"the state is of version {state.get('version')}: "
            f"{_VERSION} is known"
        )
    if (state["rank"], state["size"]) != (exchange.rank, exchange.size):
        raise ValueError(
            f"this is rank {exchange.rank} of {exchange.size}, and the state "
            f"is that of rank {state['rank']} of {state['size']}: each rank "
            "loads its own; with another number of ranks leave it out, and "
            "residuals begin at zero"
        )
    if state["density"] != exchange.density:
        raise ValueError(
            f"the state is of density {state['density']}, and this is "
            f"{exchange.density}: set_density({state['density']}) before"
        )
    exchange.wait_all()
    layers = exchange.layers if exchange.size > 1 else []
    names = {layer.name for layer in layers}
    if names != state["layers"].keys():
        differ = sorted(names ^ state["layers"].keys())
        raise ValueError(
            "the state is another model's: of one of them only is "
            + ", ".join(differ[:3])
        )
    with exchange.place.here():
        for layer in layers:
            _load_layer(exchange, layer, state["layers"][layer.name])


def _of_layer(exchange: Exchange, layer: Layer) -> dict[str, Any]:
    state = exchange.context.layer_state(layer.number)
    residual = torch.empty(0)
    if len(state):
        residual = torch.frombuffer(state, dtype=torch.float32).clone()
    return {
        "residual": residual,
        "threshold": state.threshold,
        "steps_left": state.steps_left,
        "steps": state.steps,
    }


def _load_layer(
    exchange: Exchange, layer: Layer, state: dict[str, Any]
) -> None:
    residual = state["residual"].cpu().contiguous()
    exchange.context.set_layer_state(
        layer.number,
        _native.LayerState(
            address=residual.data_ptr(),
            count=residual.numel(),
            threshold=state["threshold"],
            steps_left=state["steps_left"],
            steps=state["steps"],
        ),
    )

"""A model's parameters as layers of an exchange."""

import torch
from torch import nn


class Layer:
    """A parameter. number: its index in the exchange."""

    def __init__(self, number: int, name: str, parameter: nn.Parameter):
        self.number = number
        self.name = name
        self.parameter = parameter
        self.device = parameter.device

    def __repr__(self) -> str:
        return f"Layer({self.number}, {self.name!r})"


def layers_of(model: nn.Module) -> list[Layer]:
    """Returns the trained parameters, last first: the order of their
    gradients."""
    trained = [
        (name, parameter)
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    ]
    return [
        Layer(number, name, parameter)
        for number, (name, parameter) in enumerate(reversed(trained))
    ]


def refusals(model: nn.Module, layers: list[Layer]) -> list[str]:
    """Returns the reasons for which the model's gradients cannot be exchanged,
    each with a remedy."""
    found = [] if layers else ["the model has nothing to train"]
    for layer in reversed(layers):
        why = _refusal(layer.parameter, layers[-1].device)
        if why:
            found.append(f"{layer.name} {why}")
    for name, module in model.named_modules():
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and (
            module.sparse
        ):
            found.append(
                f"{name} has sparse gradients: make it with sparse=False"
            )
    return found


def _refusal(parameter: nn.Parameter, first: torch.device) -> str | None:
    if isinstance(parameter, nn.parameter.UninitializedParameter):
        return "has no shape yet: run the model once before"
    if parameter.device.type not in ("cpu", "cuda"):
        return (
            f"is on {parameter.device}: only the CPU's and CUDA's are exchanged"
        )
    if parameter.device != first:
        return (
            f"is on {parameter.device}, and others are on {first}: each rank "
            "trains on one device"
        )
    if parameter.dtype != torch.float32:
        return (
            f"is {parameter.dtype}: only float32 is exchanged; keep weights in "
            "float32 and compute in lower precision with torch.autocast()"
        )
    if not parameter.is_contiguous():
        return (
            "is not contiguous: make it so, as with "
            "model.to(memory_format=torch.contiguous_format)"
        )
    if parameter.numel() == 0:
        return "has no elements: freeze it with requires_grad_(False)"
    return None


def check_gradient(layer: Layer, gradient: torch.Tensor) -> None:
    """Raises RuntimeError if the gradient cannot be exchanged."""
    if gradient.layout != torch.strided:
        raise RuntimeError(
            f"the gradient of {layer.name} is sparse: only dense ones are "
            "exchanged"
        )
    if gradient.dtype != torch.float32 or gradient.device != layer.device:
        raise RuntimeError(
            f"the gradient of {layer.name} is {gradient.dtype} on "
            f"{gradient.device}: weights must stay float32 on {layer.device}, "
            "as they were when the exchange was made"
        )
    if not gradient.is_contiguous():
        raise RuntimeError(
            f"the gradient of {layer.name} is not contiguous, though its "
            "weights are: a hook of its own has replaced it"
        )

"""Finds the weights that a module's forward pass waits for."""

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.utils.hooks import RemovableHandle

from penstock.exchange._layers import Layer


class ForwardWaits:
    """Waits for a module's own layers before its forward pass.

    Some modules use the weights of modules that they do not call, as
    nn.MultiheadAttention does. The first step, which has no pending exchanges,
    finds them. A later use outside these modules is an error, because it may
    have read partly updated weights."""

    def __init__(
        self,
        model: nn.Module,
        layers: list[Layer],
        wait: Callable[[Layer], None],
    ):
        self._wait = wait
        self._modules = dict(model.named_modules())
        self._has_run: set[nn.Module] = set()
        self._has_forward: set[Layer] = set()
        self._is_current: set[Layer] = set()
        self._needs: dict[nn.Module, list[Layer]] = {}
        of_parameter = {id(layer.parameter): layer for layer in layers}
        for module in self._modules.values():
            self._needs[module] = [
                of_parameter[id(parameter)]
                for parameter in module._parameters.values()
                if id(parameter) in of_parameter
            ]
        self._handles = [
            _hook_first(module, self._before)
            for module in self._modules.values()
        ]

    def __deepcopy__(self, _: Any) -> "ForwardWaits":
        """Copies of the model share this instance, because they have its
        hooks."""
        return self

    def _before(self, module: nn.Module, _: Any) -> None:
        if module not in self._needs:  # module of a copy
            return
        self._has_run.add(module)
        for layer in self._needs[module]:
            self.wait_for(layer)

    def wait_for(self, layer: Layer) -> None:
        if layer not in self._is_current:
            self._wait(layer)
            self._is_current.add(layer)

    def end_use(self, layer: Layer) -> None:
        """Notes that a forward pass has used the layer, whose gradient is
        ready. Raises RuntimeError if no forward pass had waited for the layer.
        """
        if layer not in self._has_forward:
            needs = self._needs[self._caller(layer)]
            if layer not in needs:
                needs.append(layer)
            self._has_forward.add(layer)
        elif layer not in self._is_current:
            raise RuntimeError(
                f"{layer.name} was used outside of its module's forward, "
                "perhaps before its last update was there: call "
                "MirrorTrainer.wait() before such a use"
            )
        self._is_current.discard(layer)

    def _caller(self, layer: Layer) -> nn.Module:
        """Returns the closest enclosing module that was called."""
        name = layer.name
        while name:
            name = name.rpartition(".")[0]
            if self._modules[name] in self._has_run:
                return self._modules[name]
        raise RuntimeError(
            f"{layer.name} has a gradient, but no module that has it was "
            "called: call the model, not functions on its weights"
        )

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()


def _hook_first(
    module: nn.Module, before: Callable[[nn.Module, Any], None]
) -> RemovableHandle:
    """Registers the hook before hooks that read weights, as weight_norm()'s
    does."""
    handle = module.register_forward_pre_hook(before)
    module._forward_pre_hooks.move_to_end(handle.id, last=False)
    return handle

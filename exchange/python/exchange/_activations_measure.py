"""Measures each layer in a step: the time of both passes, and the bytes saved
between them.

During measurement, layers are recomputed, and their arguments are offloaded if
there is a tier. So the batch need not fit into memory otherwise."""

import dataclasses
import functools
import time
import weakref
from typing import Any, Callable

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from penstock.exchange._activations_cost import Layer
from penstock.exchange._activations_recompute import RecomputedCall, tensors_in
from penstock.exchange._activations_saved import storage_of

_STEPS = 3  # the first step is a warm-up


class _Storages:
    """A set of distinct storages. An address alone may be reused by another
    storage."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[StorageWeakRef, int]] = {}

    def add(self, tensor: torch.Tensor) -> None:
        storage = storage_of(tensor)
        self._seen[storage._cdata] = StorageWeakRef(storage), storage.nbytes()

    def common(self, other: "_Storages") -> "_Storages":
        both = _Storages()
        both._seen = {
            key: one for key, one in self._seen.items() if key in other._seen
        }
        return both

    def bytes(self) -> int:
        return sum(size for _, size in self._seen.values())

    def largest_bytes(self) -> int:
        return max((size for _, size in self._seen.values()), default=0)


class _MeasuredCall(RecomputedCall):
    def __init__(
        self,
        name: str,
        layer: torch.nn.Module,
        kept: set[int],
        meter: "Meter",
        keep: Callable[[torch.Tensor], Any],
    ):
        super().__init__(name, layer, kept)
        self.saved = _Storages()
        self.arguments = _Storages()
        self._meter = meter
        self._keep = keep
        self._is_asked = False

    def keep(self, tensor: torch.Tensor) -> Any:
        if not self._stays(tensor):
            self.arguments.add(tensor)
        return self._keep(tensor)

    def _pack(self, tensor: torch.Tensor) -> Any:
        if not self._stays(tensor):
            self.saved.add(tensor)
        return super()._pack(tensor)

    def _now_s(self) -> float:
        return self._meter.now_s()

    def _take(self, index: int) -> torch.Tensor | None:
        if not self._is_asked:
            self._is_asked = True
            self._meter.begin_backward(self)
        return super()._take(index)


@dataclasses.dataclass
class _Figures:
    """Figures of a layer in one step: the sum over all its calls."""

    saved_bytes: int = 0
    argument_bytes: int = 0
    gradient_bytes: int = 0
    forward_s: float = 0.0
    backward_s: float = 0.0
    recompute_s: float = 0.0


class Meter:
    """Measures the first _STEPS steps."""

    def __init__(
        self, synchronize: Callable[[], None], wait_s: Callable[[], float]
    ):
        """wait_s: returns the seconds that the computation has waited for a
        link."""
        self._synchronize = synchronize
        self._wait_s = wait_s
        self._steps: list[dict[str, _Figures]] = []
        self._step: dict[str, _Figures] = {}
        self._before: tuple[str, _Storages] | None = None
        self._in_backward: _MeasuredCall | None = None
        self._ending: Callable[[], Any] | None = None  # weak: the engine's
        self._since_s = 0.0

    def is_done(self) -> bool:
        return len(self._steps) >= _STEPS

    def run(
        self,
        name: str,
        layer: torch.nn.Module,
        forward: Callable[..., Any],
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        kept: set[int],
        keep: Callable[[torch.Tensor], Any],
    ) -> Any:
        self._forget_failed()
        call = _MeasuredCall(name, layer, kept, self, keep)
        begin_s = self.now_s() - self._wait_s()
        result = call.run(forward, arguments, call.keep)
        figures = self._step.setdefault(name, _Figures())
        figures.forward_s += self.now_s() - self._wait_s() - begin_s
        figures.argument_bytes += call.arguments.bytes()
        figures.saved_bytes += call.saved.bytes()
        figures.gradient_bytes += _gradient_bytes(result, *arguments)
        # Estimates the intermediate gradients of an operation: its input, its
        # output and its workspace.
        figures.gradient_bytes += 3 * call.saved.largest_bytes()
        self._count_once(call)
        self._before = name, call.saved
        return result

    def _count_once(self, call: _MeasuredCall) -> None:
        """Subtracts the tensors that the previous layer outputs and saves too.
        They count for this layer, whose backward pass needs them first."""
        if self._before is None:
            return
        name, saved = self._before
        shared = call.arguments.common(call.saved).common(saved)
        self._step[name].saved_bytes -= shared.bytes()

    def begin_backward(self, call: _MeasuredCall) -> None:
        """Notes that the backward pass has reached this call of a layer."""
        if self._in_backward is None:
            ending = functools.partial(self._end_backward)
            self._ending = weakref.ref(ending)
            torch.autograd.Variable._execution_engine.queue_callback(ending)
        self._end_layer()
        self._in_backward = call
        self._since_s = self.now_s()

    def _forget_failed(self) -> None:
        """Discards a failed step. If a backward pass raises, the engine does
        not run queued callbacks."""
        if self._in_backward is not None and self._ending() is None:
            self._in_backward = None
            self._before = None
            self._step = {}

    def _end_layer(self) -> None:
        call = self._in_backward
        if call is not None and call.name in self._step:
            spent_s = self.now_s() - self._since_s - call.again_s
            figures = self._step[call.name]
            figures.backward_s += max(0.0, spent_s)
            figures.recompute_s += call.recompute_s

    def _end_backward(self) -> None:
        self._end_layer()
        self._in_backward = None
        self._before = None
        self._steps.append(self._step)
        self._step = {}

    def now_s(self) -> float:
        self._synchronize()
        return time.perf_counter()

    def layers(self) -> list[Layer]:
        """REQUIRES: is_done()."""
        warm = self._steps[1:]

        def least(name: str, what: str) -> float:
            return min(getattr(one[name], what) for one in warm if name in one)

        return [
            Layer(
                name,
                last.saved_bytes,
                last.argument_bytes,
                last.gradient_bytes,
                least(name, "forward_s"),
                least(name, "backward_s"),
                least(name, "recompute_s"),
            )
            for name, last in warm[-1].items()
        ]


def _gradient_bytes(*values: Any) -> int:
    """Returns the total bytes of tensors that get a gradient."""
    return sum(
        tensor.numel() * tensor.element_size()
        for tensor in tensors_in(values)
        if tensor.requires_grad
    )

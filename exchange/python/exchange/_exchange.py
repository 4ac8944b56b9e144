"""A model's layers in a context of the library; the base of both adapters."""

from torch import Tensor, nn

from penstock._client import default_client
from penstock.exchange import _native
from penstock.exchange._layers import Layer, layers_of, refusals
from penstock.exchange._options import ExchangeOptions
from penstock.exchange._place import Cpu, Place, place_on
from penstock.exchange._transport import close_at_exit, open_transport
from penstock.exchange._weights import check_same_weights


class Exchange:
    """The exchange of a model's gradients.

    With one rank there is no exchange and no context. A densely exchanged layer
    needs its gradient until the exchange is done, so the gradient is kept here.
    """

    def __init__(
        self, model: nn.Module, options: ExchangeOptions, why_not: list[str]
    ):
        """Collective: all ranks call it together, each with its reasons for
        refusal. Raises ValueError on all ranks if one refuses, or if ranks
        differ."""
        transport = open_transport(options.transport)
        self.rank, self.size = transport.rank, transport.size
        self.layers = layers_of(model)
        self.density = options.density
        self._kept: list[tuple[Layer, Tensor]] = []
        self._told_s = 0.0
        self._context: _native.Context | None = None
        self.place: Place = Cpu()
        why_not = why_not + refusals(model, self.layers)
        if self.size > 1 and not why_not:
            why_not = self._take_place(transport)
        if self.size > 1:
            check_same_weights(
                transport, self.layers, not why_not, options.timeout_s
            )
            self._context = self._plan(transport, options, why_not)
        elif why_not:
            raise ValueError(_first_of(why_not))

    def _take_place(self, transport: _native.Transport) -> list[str]:
        """Returns the reasons for which the device cannot be used."""
        device = self.layers[0].device
        # torch computes a GPU's gradients in a thread of its own.
        if device.type == "cuda" and not transport.allows_thread:
            return [
                f"the model is on {device}, and MPI allows no thread of ours: "
                "have MPI_Init_thread() called with MPI_THREAD_MULTIPLE, of an "
                "MPI that was built with it"
            ]
        try:
            self.place = place_on(device)
            self.place.make_room()
        except (ValueError, RuntimeError) as error:
            return [str(error)]
        return []

    def _plan(
        self,
        transport: _native.Transport,
        options: ExchangeOptions,
        why_not: list[str],
    ) -> _native.Context:
        context = _native.Context(
            transport,
            costs=options.native_costs(),
            timeout_s=options.timeout_s,
            bucket_elements=options.bucket_elements,
            device=self.place.native,
        )
        for layer in self.layers:
            context.add_layer(
                layer.name,
                elements=layer.parameter.numel(),
                density=options.density,
                residual=options.residual,
                method=options.method,
            )
        if why_not:
            context.refuse(_first_of(why_not))
        with self.place.here():
            context.plan()
        close_at_exit(self)
        return context

    @property
    def context(self) -> _native.Context:
        """Returns the context; requires several ranks."""
        if self._context is None:
            raise ValueError("one rank exchanges nothing")
        return self._context

    def submit(
        self, layer: Layer, gradient: Tensor, update: _native.Update
    ) -> None:
        context = self.context
        if context.keeps_gradient(layer.number):
            self._kept.append((layer, gradient))
        context.submit(
            layer.number,
            gradient.data_ptr(),
            gradient.numel(),
            update,
            self.place.stream_of(gradient),
        )
        self.free_gradients()

    def free_gradients(self) -> None:
        """Frees the gradients of completed exchanges, oldest first."""
        while self._kept and self.context.poll(self._kept[0][0].number):
            self._kept.pop(0)

    def keeps_gradient(self, layer: Layer) -> bool:
        return self.context.keeps_gradient(layer.number)

    def wait(self, layer: Layer) -> None:
        self.context.wait(layer.number)

    def wait_all(self) -> None:
        if self._context is None:
            return
        first: list[Exception] = []
        for layer in self.layers:
            try:
                self.wait(layer)
            except Exception as error:
                first = first or [error]
        # Not earlier: ranks that still exchange would report this rank's exit
        # instead of the original error.
        if first:
            raise first.pop()
        self._kept.clear()

    @property
    def wait_s(self) -> float:
        """Returns the seconds that this rank has waited for the others."""
        return self._context.stats().wait_s if self._context else 0.0

    @property
    def planned_bytes(self) -> int:
        """Returns the bytes that the context holds on the device."""
        return self._context.stats().planned_bytes if self._context else 0

    @property
    def sent_bytes(self) -> int:
        return self._context.stats().sent_bytes if self._context else 0

    def tell_stall(self) -> None:
        """Publishes the new waiting time on the job's page."""
        new_s = self.wait_s - self._told_s
        if new_s > 0:
            self._told_s += new_s
            default_client().add(exchange_ns=int(new_s * 1e9))

    def set_density(self, density: float) -> None:
        """Sets the density from the next step on. On failure, raises ValueError
        on all ranks; the density is unchanged."""
        if self._context is None:
            ExchangeOptions(density=density)
        else:
            self.wait_all()
            try:
                self.place.make_room()
            except RuntimeError as error:
                self.fail(error)
                raise
            with self.place.here():
                self._context.set_densities([density] * len(self.layers))
        self.density = density

    def fail(self, error: BaseException) -> None:
        """Reports the error to the other ranks, which would otherwise wait for
        this one."""
        if self._context is not None:
            self._context.fail(f"{type(error).__name__}: {error}")

    def close(self) -> None:
        if self._context is None:
            return
        try:
            with self.place.here():
                self._context.close()
        finally:  # in case the GPU is no longer available
            self._context.close()


def _first_of(why_not: list[str]) -> str:
    """Returns the first reason. Messages between ranks have some hundred
    characters."""
    others = len(why_not) - 1
    return why_not[0] + (f" (and {others} more)" if others else "")

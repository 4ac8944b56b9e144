"""Opens the transport between ranks."""

import atexit
import sys
import weakref
from typing import Literal, Protocol

from penstock.exchange import _native


class Closable(Protocol):
    def fail(self, error: BaseException) -> None: ...

    def close(self) -> None: ...


_open: "weakref.WeakSet[Closable]" = weakref.WeakSet()


def open_transport(
    transport: Literal["mpi", "self"] | _native.Transport,
) -> _native.Transport:
    """Raises RuntimeError without MPI."""
    if isinstance(transport, _native.Transport):
        return transport
    if transport == "self":
        return _native.alone()
    if transport != "mpi":
        raise ValueError(f'no transport {transport!r}: "mpi", "self"')
    try:
        from penstock.exchange import _native_mpi
    except ImportError as missing:
        raise RuntimeError(
            "penstock.exchange has no MPI here (" + str(missing) + "): install "
            'it and build again, or train alone with transport="self"'
        ) from missing
    atexit.register(_finalize, _native_mpi)  # repetition is harmless
    return _native_mpi.world()


def close_at_exit(exchange: Closable) -> None:
    """Closes the exchange before MPI ends, because its thread may use MPI."""
    _open.add(exchange)


def _finalize(mpi: "object") -> None:
    error = getattr(sys, "last_value", None)  # an uncaught exception
    for exchange in list(_open):
        if error is not None:
            exchange.fail(error)
        exchange.close()
    # MPI_Finalize() waits for all ranks. A failed rank must skip it: mpirun
    # ends the others after it exits.
    if error is None:
        mpi.finalize()

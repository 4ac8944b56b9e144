"""How the ranks reach each other."""

import atexit
import sys
import weakref
from typing import Literal

from penstock.exchange import _native

_open: "weakref.WeakSet[_native.Context]" = weakref.WeakSet()


def open_transport(
    transport: Literal["mpi", "self"] | _native.Transport,
) -> _native.Transport:
    """Raises RuntimeError where there is no MPI."""
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
    atexit.register(_finalize, _native_mpi)  # again: the same for all
    return _native_mpi.world()


def close_at_exit(context: _native.Context) -> None:
    """Before MPI ends, which its thread may be using."""
    _open.add(context)


def _finalize(mpi: "object") -> None:
    error = getattr(sys, "last_value", None)  # that nobody caught
    for context in list(_open):
        if error is not None:
            context.fail(f"{type(error).__name__}: {error}")
        context.close()
    # MPI_Finalize() waits for all ranks. A rank that failed must not: mpirun
    # ends the others when it is gone.
    if error is None:
        mpi.finalize()

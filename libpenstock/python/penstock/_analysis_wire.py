"""JSON lines between a rank and penstock analyze (docs/protocol.md)."""

import json
import math
import os
import re
import select
import socket
import weakref
from typing import Any, NamedTuple

VARIABLE = "PENSTOCK_ANALYZE"
_MAX_LINE_BYTES = 65536
_CONNECT_S = 5
_SEND_S = 30  # the peer reads all the time
# A host that vanishes silently is detected after 10 + 3 * 5 s.
_KEEP_ALIVE = (
    (socket.TCP_KEEPIDLE, 10),
    (socket.TCP_KEEPINTVL, 5),
    (socket.TCP_KEEPCNT, 3),
)
_ADDRESS = re.compile(r"(.+):([0-9]{1,5}):([0-9a-f]{32})")


class Lost(Exception):
    """The connection ended, or the peer violates the protocol."""


class Address(NamedTuple):
    """The value of the variable: HOST:PORT:SECRET."""

    host: str
    port: int
    secret: str

    @staticmethod
    def of(text: str) -> "Address":
        """Raises ValueError for another format."""
        address = _ADDRESS.fullmatch(text)
        if address is None or int(address[2]) > 65535:
            raise ValueError(f"{VARIABLE} is not HOST:PORT:SECRET")
        return Address(address[1], int(address[2]), address[3])


class Cell(NamedTuple):
    """Instructions until the next cell."""

    cell: int
    data: str
    train: bool
    cores: float | None
    bytes_per_s: float | None
    subset_samples: int

    @staticmethod
    def of(message: dict[str, Any]) -> "Cell":
        """Raises Lost for an invalid message."""
        try:
            cell = Cell(*(message[name] for name in Cell._fields))
            good = (
                cell.data in ("replay", "memory", "cold")
                and cell.subset_samples >= 1
                and int(cell.cell) == cell.cell
                and all(
                    limit is None or 0 < limit < math.inf
                    for limit in (cell.cores, cell.bytes_per_s)
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Lost(f"an order that is none: {error}") from error
        if not good:
            raise Lost("an order that is out of range")
        return cell



class Wire:
    """The connection. Single-threaded use. Closed in forked children."""

    def __init__(self, address: Address):
        """Raises OSError if the connection fails."""
        self._received = b""
        self._socket = socket.create_connection(
            (address.host, address.port), _CONNECT_S
        )
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE:
            self._socket.setsockopt(socket.IPPROTO_TCP, option, value)
        self._socket.settimeout(_SEND_S)
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)
        _wires.add(self)

    def send(self, **message: Any) -> None:
        """Raises Lost if the connection fails."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise Lost(f"sending: {error}") from error

    def poll(self) -> dict[str, Any] | None:
        """Returns the next message, or None if there is none. Raises Lost."""
        message = self._next()
        while message is None and self._receive():
            message = self._next()
        return message

    def wait(self) -> dict[str, Any]:
        """Waits for the next message, without a time limit. Raises Lost.

        penstock analyze limits the wait between ranks. When that limit expires,
        it ends the connection."""
        while True:
            message = self.poll()
            if message is not None:
                return message
            self._readable.poll()

    def close(self) -> None:
        self._socket.close()

    def _next(self) -> dict[str, Any] | None:
        line, newline, rest = self._received.partition(b"\n")
        if len(line) > _MAX_LINE_BYTES:
            raise Lost("a line over 64 KiB")
        if not newline:
            return None
        self._received = rest
        try:
            message = json.loads(line)
        except ValueError as error:
            raise Lost("a line that is not JSON") from error
        if not isinstance(message, dict):
            raise Lost("a line that is no object of JSON")
        return message

    def _receive(self) -> bool:
        """Returns False if no data is available."""
        if not self._readable.poll(0):
            return False
        try:
            data = self._socket.recv(_MAX_LINE_BYTES)
        except OSError as error:
            raise Lost(f"receiving: {error}") from error
        if not data:
            raise Lost("it was closed")
        self._received += data
        return True


_wires: "weakref.WeakSet[Wire]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    """Closes the connection. A worker that held it open would hide its
    trainer's exit."""
    for wire in list(_wires):
        wire.close()


os.register_at_fork(after_in_child=_after_fork_in_child)

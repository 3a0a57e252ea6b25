"""A listening socket that can be closed without a reset for anybody who has just connected."""

from __future__ import annotations

import array
import socket
import struct
from contextlib import suppress
from typing import Any

from tritonclient_shim.gateway.addresses import CannotListen, bound_socket

#: Linux's number of the option; Python has no name for it.
_SO_ATTACH_FILTER = 26
#: A classic BPF program: load the byte of a TCP header that has the flags; is SYN among them?
#: Then drop the packet, otherwise take it whole. Each row is code, jump if true, jump if false, k.
_NO_SYN = ((0x30, 0, 0, 13), (0x45, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))


def listener_on(family: int, address: Any, shared: bool) -> socket.socket:
    """A socket that is bound to an address and does not block. OSError if it is in use.

    ``shared``: other processes of this gateway listen on the same address.
    """
    try:
        listener = bound_socket(family, address, shared)
    except OSError as error:
        shown = f"{address[0]}:{address[1]}"
        raise CannotListen(error.errno, f"cannot listen on {shown}: {error.strerror}") from None
    listener.setblocking(False)
    return listener


def take_no_more(listener: socket.socket) -> None:
    """From now on the system answers no attempt to connect; a client tries again after a second.

    By then the socket is closed, and the client is refused, so that it can turn to another
    gateway. Without this, whoever connects between the last ``accept`` and the end of the socket
    would be connected, and then reset with its request. Does nothing where the system cannot.
    """
    program = array.array("B", b"".join(struct.pack("=HBBI", *row) for row in _NO_SYN))
    address, _ = program.buffer_info()
    with suppress(OSError):
        given = struct.pack("@HP", len(_NO_SYN), address)
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, given)


def waiting(listener: socket.socket) -> list[socket.socket]:
    """The connections that nobody has accepted yet."""
    found = []
    with suppress(BlockingIOError):
        while True:
            connection, _ = listener.accept()
            connection.setblocking(False)
            found.append(connection)
    return found

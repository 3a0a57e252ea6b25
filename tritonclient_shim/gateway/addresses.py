"""Addresses that belong to all worker processes of a gateway.

Each worker has listeners of its own, and the system spreads new connections over those of one
address (SO_REUSEPORT). The supervisor holds each address, without listening, as long as it runs:
so all workers get the same port where the system has chosen it, and no other user gets it while
a worker is started again.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import AsyncExitStack
from typing import Any

from tritonclient_shim.gateway.options.table import ListenAddress


class CannotListen(OSError):
    """An address cannot be listened on."""


def reserve(address: ListenAddress, held: AsyncExitStack) -> ListenAddress:
    """Hold an address until ``held`` is closed → the same with the port that the system chose.

    Raises OSError when somebody listens there, or the address is not one of this machine.
    """
    port = address.port
    found = socket.getaddrinfo(address.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, _, _, _, place in dict.fromkeys(found):
        where = (place[0], port, *place[2:])
        try:
            _check_free(family, where)
            holder = held.enter_context(bound_socket(family, where, shared=True))
        except OSError as error:
            shown = ListenAddress(address.host, port)
            raise CannotListen(error.errno, f"cannot listen on {shown}: {error.strerror}") from None
        port = holder.getsockname()[1]
    return ListenAddress(address.host, port)


def _check_free(family: int, place: Any) -> None:
    """OSError if somebody listens there: SO_REUSEPORT would let us share a gateway's address."""
    bound_socket(family, place, shared=False).close()


def bound_socket(family: int, place: Any, shared: bool) -> socket.socket:
    """A socket on an address, as asyncio makes them. OSError if it is in use.

    ``shared``: other sockets of this user may have the same address.
    """
    one = socket.socket(family, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            _share(one)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(place)
    except OSError:
        one.close()
        raise
    return one


def _share(one: socket.socket) -> None:
    """Let other sockets have the same address. OSError where the system cannot."""
    option = getattr(socket, "SO_REUSEPORT", None)
    if option is None:
        code = errno.ENOPROTOOPT
        raise OSError(code, f"{os.strerror(code)}: several workers need SO_REUSEPORT")
    one.setsockopt(socket.SOL_SOCKET, option, 1)

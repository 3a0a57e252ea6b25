"""The sockets on which the gateway listens for HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

from tritonclient_shim.gateway.options import ListenAddress
from tritonclient_shim.gateway.stopping import CannotListen
from tritonclient_shim.settings.addresses import join_port

#: Connections that may wait to be accepted.
BACKLOG = 1024


async def listeners_at(address: ListenAddress) -> list[socket.socket]:
    """Return a socket for each address of a host. Raise CannotListen when one is in use.

    A socket of IPv6 also accepts clients of IPv4, as gRPC's does.
    """
    loop = asyncio.get_running_loop()
    places = await loop.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return [_listener(family, place) for family, _, _, _, place in dict.fromkeys(places)]


def _listener(family: int, place: Any) -> socket.socket:
    try:
        dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()  # as gRPC does
        listener = socket.create_server(place, family=family, backlog=BACKLOG, dualstack_ipv6=dual)
    except OSError as error:
        shown = join_port(place[0], place[1])
        reason = os.strerror(error.errno) if error.errno else error
        raise CannotListen(error.errno, f"cannot listen on {shown}: {reason}") from None
    listener.setblocking(False)
    return listener

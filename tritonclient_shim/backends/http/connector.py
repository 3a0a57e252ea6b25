"""From an address to a connected socket: time limits, keepalive, proxies
(docs/v1-behaviour.md §10.1).
"""

from __future__ import annotations

import socket
from http.client import HTTPException
from typing import NamedTuple

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.http import errors
from tritonclient_shim.backends.http.address import Location, parse
from tritonclient_shim.backends.http.response import read_reply
from tritonclient_shim.core.addresses import join_port
from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.settings import Proxy, Settings, proxy_for

_PROBES = 3  # unanswered ones that end a connection


class Dial(NamedTuple):
    """How connections are made; those made in different ways are never shared. Seconds."""

    connect_timeout: float | None = None
    network_timeout: float | None = None
    keepalive: tuple[float, float] | None = None  # idle time, time for an answer
    proxy: Proxy | None = None
    tls: tls.Tls = tls.DEFAULT


DEFAULT = Dial()


def dial_of(endpoint: Endpoint, settings: Settings) -> Dial:
    """What settings and environment mean for an endpoint; SettingsError when they cannot."""
    keepalive = None
    if settings.keepalive_time is not None:
        keepalive = (settings.keepalive_time, settings.keepalive_timeout or 20.0)
    return Dial(
        settings.connect_timeout,
        settings.network_timeout,
        keepalive,
        _proxy(endpoint, settings),
        tls.tls_of(settings) if endpoint.secure else tls.DEFAULT,
    )


def _proxy(endpoint: Endpoint, settings: Settings) -> Proxy | None:
    try:
        host = parse(endpoint.address, endpoint.secure).host
    except (HTTPException, UnicodeError):
        return None  # the first call reports the address
    return proxy_for(settings, host, endpoint.secure)


def reach(location: Location, dial: Dial) -> socket.socket:
    """A socket connected to the server, or to the proxy before it; TransportFault if impossible.

    It keeps the connect timeout.
    """
    target = dial.proxy or location
    with errors.CONNECT:
        reached = socket.create_connection((target.host, target.port), dial.connect_timeout)
        reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if dial.keepalive is not None:
            _keep_alive(reached, *dial.keepalive)
    return reached


def _keep_alive(reached: socket.socket, idle: float, patience: float) -> None:
    reached.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _whole(idle))
    reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _whole(patience / _PROBES))
    reached.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)


def _whole(seconds: float) -> int:
    return min(max(1, round(seconds)), 32767)  # the kernel's limits


def tunnel(reached: socket.socket, location: Location, proxy: Proxy) -> None:
    """Have the proxy connect to the server (CONNECT); TransportFault when it does not."""
    target = join_port(location.host, location.port)
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    with errors.SEND:
        reached.sendall("\r\n".join([*lines, "", ""]).encode())
    with reached.makefile("rb", buffering=0) as stream:
        status = read_reply(stream, head_only=True)[0].status
    if status != 200:
        raise TransportFault(f"{errors.PREFIX}Failure when receiving data from the peer")

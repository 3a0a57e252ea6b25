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
from tritonclient_shim.backends.http.response import read_status
from tritonclient_shim.core.addresses import join_port
from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.settings import DEFAULTS, Proxy, Settings, of_connections, proxy_for

_PROBES = 3  # unanswered ones that end a connection


class HttpConnector(NamedTuple):
    """How connections to a server are made; those made in different ways are never shared."""

    endpoint: Endpoint
    settings: Settings = DEFAULTS  # of connections; the others have their defaults
    proxy: Proxy | None = None
    tls: tls.Tls = tls.DEFAULT

    def connect(self, location: Location) -> socket.socket:
        """A socket connected to the server, or to the proxy before it; it keeps the time limit.

        Raises TransportFault where that is impossible.
        """
        target, settings = self.proxy or location, self.settings
        with errors.CONNECT:
            made = socket.create_connection((target.host, target.port), settings.connect_timeout)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.keepalive_time is not None:
                _keep_alive(made, settings.keepalive_time, settings.keepalive_timeout or 20.0)
        return made


def connector_for(endpoint: Endpoint, settings: Settings) -> HttpConnector:
    """What settings, files and environment mean for an endpoint; SettingsError when they cannot."""
    relevant = of_connections(settings, endpoint)
    return HttpConnector(endpoint, relevant, _proxy(endpoint, relevant), tls.tls_of(relevant))


def _proxy(endpoint: Endpoint, settings: Settings) -> Proxy | None:
    try:
        host = parse(endpoint.address, endpoint.secure).host
    except (HTTPException, UnicodeError):
        return None  # the first call reports the address
    return proxy_for(settings, host, endpoint.secure)


def _keep_alive(connected: socket.socket, idle: float, patience: float) -> None:
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _whole(idle))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _whole(patience / _PROBES))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)


def _whole(seconds: float) -> int:
    return min(max(1, round(seconds)), 32767)  # the kernel's limits


def open_tunnel(connected: socket.socket, location: Location, proxy: Proxy) -> None:
    """Have the proxy connect to the server (CONNECT); TransportFault when it does not."""
    target = join_port(location.host, location.port)
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    with errors.SEND:
        connected.sendall("\r\n".join([*lines, "", ""]).encode())
    with connected.makefile("rb", buffering=0) as stream:
        status = read_status(stream)
    if status != 200:
        raise TransportFault(f"{errors.PREFIX}Failure when receiving data from the peer")

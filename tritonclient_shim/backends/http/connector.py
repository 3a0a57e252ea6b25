"""From an address to a connected socket: the parsed address, proxies, TCP's keepalive."""

from __future__ import annotations

import re
import socket
import ssl
from http.client import HTTPException, InvalidURL, UnknownProtocol
from typing import NamedTuple
from urllib.parse import quote

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.http.errors import ANSWER, CONNECT, HANDSHAKE, PREFIX, SEND
from tritonclient_shim.backends.http.response import read_head
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.settings import (
    DEFAULTS,
    Proxy,
    Settings,
    addresses,
    of_connections,
    proxy_for,
)
from tritonclient_shim.settings.addresses import join_port

_HOST = re.compile(r"\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^\[?#]+")
_UNUSABLE = re.compile(r"[\x00-\x20\x7f\\^`{|}<>\"]")
_QUERY = re.compile(r"[?#]")
_PROBES = 3  # unanswered ones that end a connection


class Location(NamedTuple):
    """A parsed address; ``prefix`` has no '/' at its end."""

    host: str  # without brackets
    port: int
    host_header: str
    prefix: str
    authorization: str  # "" without user-info


def parse(address: str, secure: bool) -> Location:
    """Endpoint address → Location; InvalidURL where libcurl refused one
    (docs/v1-behaviour.md §3.1).
    """
    if "://" in address:
        raise UnknownProtocol(address)
    parts = None if _UNUSABLE.search(address) else addresses.parse(address)
    if parts is None or not _HOST.fullmatch(parts.host) or _QUERY.search(parts.prefix):
        raise InvalidURL(f"{address!r} is not host:port, optionally followed by /prefix")
    host = parts.host.encode("ascii" if parts.host.isascii() else "idna").decode()
    port = int(parts.port or (443 if secure else 80))
    if not 0 < port < 65536:
        raise InvalidURL(f"port {port} of {address!r} is not in 1..65535")
    prefix = quote(parts.prefix, safe="/%:@!$&'()*+,;=~").rstrip("/")
    shown = f"{host}:{port}" if parts.port else host
    authorization = addresses.basic_authorization(parts.user)
    return Location(host.strip("[]"), port, shown, prefix, authorization)


class HttpConnector(NamedTuple):
    """How connections to a server are made; those made in different ways are never shared."""

    endpoint: Endpoint
    settings: Settings = DEFAULTS  # of connections; the others have their defaults
    proxy: Proxy | None = None
    tls: tls.Tls = tls.DEFAULT

    def connect(self, location: Location, context: ssl.SSLContext | None) -> socket.socket:
        """Return a socket connected to the server; TransportError where that is impossible."""
        target = self.proxy or location
        try:
            peer = socket.create_connection(
                (target.host, target.port), self.settings.connect_timeout
            )
        except CONNECT.exceptions as failure:
            raise CONNECT.error_of(failure) from failure
        try:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.settings.keepalive_time is not None:
                _keep_alive(peer, self.settings.keepalive_time, self.settings.keepalive_timeout)
            if context is not None:
                if self.proxy is not None:
                    _open_tunnel(peer, location, self.proxy)
                peer = _secured(peer, context, location.host)
            peer.settimeout(self.settings.network_timeout)
        except BaseException:  # whatever it is, nobody else knows of the socket
            peer.close()
            raise
        return peer


def connector_for(endpoint: Endpoint, settings: Settings) -> HttpConnector:
    """Return the connector of an endpoint; SettingsError for unusable settings or files."""
    relevant = of_connections(settings, endpoint)
    return HttpConnector(endpoint, relevant, proxy_of(endpoint), tls.tls_of(relevant))


def proxy_of(endpoint: Endpoint) -> Proxy | None:
    """Return the proxy on the way to an endpoint; SettingsError for an unsupported kind."""
    try:
        host = parse(endpoint.address, endpoint.secure).host
    except (HTTPException, UnicodeError):
        return None  # the first call reports the address
    return proxy_for(host, endpoint.secure)


def _keep_alive(peer: socket.socket, idle: float, wait: float) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _whole(idle))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _whole(wait / _PROBES))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)


def _whole(seconds: float) -> int:
    return min(max(1, round(seconds)), 32767)  # the kernel's limits


def _secured(peer: socket.socket, context: ssl.SSLContext, host: str) -> socket.socket:
    """Return the socket with TLS; TransportError if the handshake fails."""
    try:
        return context.wrap_socket(peer, server_hostname=host)
    except HANDSHAKE.exceptions as failure:
        raise HANDSHAKE.error_of(failure) from failure


def _open_tunnel(connected: socket.socket, location: Location, proxy: Proxy) -> None:
    """Have the proxy connect to the server (CONNECT); TransportError when it does not."""
    target = join_port(location.host, location.port)
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    try:
        connected.sendall("\r\n".join([*lines, "", ""]).encode())
    except SEND.exceptions as failure:
        raise SEND.error_of(failure) from failure
    try:
        with connected.makefile("rb") as stream:  # the server speaks only after the client
            status = read_head(stream).status
    except ANSWER.exceptions as failure:
        raise ANSWER.error_of(failure) from failure
    if status != 200:
        raise TransportError(f"{PREFIX}Failure when receiving data from the peer")

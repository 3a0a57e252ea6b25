"""From an address to pooled connections, shared by all in the process that connect alike.

Any thread may send; a connection belongs to one request at a time. Nothing is ever run twice
behind the user's back: see :meth:`HttpPool.request` for the failures that are repeated.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import threading
from collections import deque
from http.client import HTTPException, InvalidURL, UnknownProtocol
from typing import Iterator, NamedTuple, Sequence
from urllib.parse import quote

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.http import errors
from tritonclient_shim.backends.http.response import Reply, read_reply, read_status
from tritonclient_shim.core import addresses, forks
from tritonclient_shim.core.addresses import join_port
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import Buffer, Endpoint
from tritonclient_shim.settings import DEFAULTS, Proxy, Settings, of_connections, proxy_for

_HOST = re.compile(r"\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^\[?#]+")
_UNUSABLE = re.compile(r"[\x00-\x20\x7f\\^`{|}<>\"]")
_QUERY = re.compile(r"[?#]")
LARGE = 1 << 16  # bytes; a piece from here on is sent from where it lies
MAX_IN_FLIGHT = 64  # asynchronous requests per endpoint; more wait their turn
MAX_IDLE = 64  # connections kept open per endpoint
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
    found = None if _UNUSABLE.search(address) else addresses.parse(address)
    if found is None or not _HOST.fullmatch(found.host) or _QUERY.search(found.prefix):
        raise InvalidURL(f"{address!r} is not host:port, optionally followed by /prefix")
    host = found.host.encode("ascii" if found.host.isascii() else "idna").decode()
    port = int(found.port or (443 if secure else 80))
    if not 0 < port < 65536:
        raise InvalidURL(f"port {port} of {address!r} is not in 1..65535")
    prefix = quote(found.prefix, safe="/%:@!$&'()*+,;=~").rstrip("/")
    shown = f"{host}:{port}" if found.port else host
    authorization = addresses.basic_authorization(found.user)
    return Location(host.strip("[]"), port, shown, prefix, authorization)


class HttpConnector(NamedTuple):
    """How connections to a server are made; those made in different ways are never shared."""

    endpoint: Endpoint
    settings: Settings = DEFAULTS  # of connections; the others have their defaults
    proxy: Proxy | None = None
    tls: tls.Tls = tls.DEFAULT

    def connect(self, location: Location) -> socket.socket:
        """Return a socket connected to the server, or to its proxy; it keeps the time limit.

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
    """Return the connector of an endpoint; SettingsError for unusable settings or files."""
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


class HttpConnection:
    """One connection; used by one thread at a time."""

    def __init__(
        self, location: Location, context: ssl.SSLContext | None, connector: HttpConnector
    ) -> None:
        self._socket = connector.connect(location)
        try:
            if context is not None:
                if connector.proxy is not None:
                    open_tunnel(self._socket, location, connector.proxy)
                with errors.HANDSHAKE:
                    self._socket = context.wrap_socket(self._socket, server_hostname=location.host)
            self._socket.settimeout(connector.settings.network_timeout)
        except BaseException:  # whatever it is, nobody else knows of the socket
            self.close()
            raise
        self._readable = select.poll()
        self._readable.register(self._socket, select.POLLIN)

    def usable(self) -> bool:
        """False when the server has closed the idle connection, or has sent something unasked."""
        return not self._readable.poll(0)

    def exchange(self, pieces: Sequence[Buffer]) -> tuple[Reply, bool]:
        """Send one request, receive its answer; also whether the connection may be kept."""
        with errors.SEND:
            for part in _parts(pieces):
                self._socket.sendall(part)
        with self._socket.makefile("rb") as stream:
            return read_reply(stream)

    def close(self) -> None:
        """Close the socket; idempotent."""
        self._socket.close()


def _parts(pieces: Sequence[Buffer]) -> Iterator[Buffer]:
    """Pieces → the same bytes with small neighbours joined and large pieces as they are."""
    small: list[Buffer] = []
    for piece in pieces:
        if memoryview(piece).nbytes < LARGE:
            small.append(piece)
            continue
        yield b"".join(small)
        small.clear()
        yield piece
    if small:
        yield b"".join(small)


class HttpPool:
    """The connections that one connector makes, and the threads of asynchronous requests."""

    def __init__(self, connector: HttpConnector) -> None:
        self.connector = connector
        self._endpoint = connector.endpoint
        self._location: Location | None = None
        self._context: ssl.SSLContext | None = None
        if connector.endpoint.secure and connector.tls != tls.DEFAULT:
            self._context = tls.client_context(connector.tls)
        self._idle: deque[HttpConnection] = deque()
        self.executor = DaemonExecutor(MAX_IN_FLIGHT, "tritonclient-shim-http")
        self.users = 0
        self._server = KnownServer()
        forks.repair(self)

    @property
    def location(self) -> Location:
        """Return the parsed address; TransportFault when it is none, at first use as in v1
        (docs/v1-behaviour.md §3.1).
        """
        if self._location is None:
            with errors.ADDRESS:
                self._location = parse(self._endpoint.address, self._endpoint.secure)
        return self._location

    def known_server(self) -> KnownServer:
        """Return what is known of the server, as long as its connections last."""
        if self._server.is_known:
            idle = self._take()
            if idle is not None:
                self._keep(idle)
        return self._server

    def request(self, pieces: Sequence[Buffer], repeatable: bool = False) -> Reply:
        """Send a complete request, in pieces; return the answer, whatever its status.

        A request that fails on a connection kept from earlier is repeated on a fresh one,
        once, in two cases: the server cannot have received all of it, or it is ``repeatable``
        (a GET) and not one byte of an answer came. A POST that was sent completely and not answered
        may have been executed; it fails. A server restarted between two calls is thus
        reached at once (docs/v1-behaviour.md §E.7): its closed connection is seen before sending.
        """
        kept = self._take()
        if kept is not None:
            try:
                return self._exchange(kept, pieces)
            except errors.Unsent:
                pass
            except errors.Unanswered:
                if not repeatable:
                    raise
        return self._exchange(self._connect(), pieces)

    def _exchange(self, connection: HttpConnection, pieces: Sequence[Buffer]) -> Reply:
        try:
            reply, keep = connection.exchange(pieces)
        except BaseException:  # whatever it is, half an exchange may be on the connection
            self._lose(connection)
            raise
        if keep:
            self._keep(connection)
        else:
            connection.close()
        return reply

    def _connect(self) -> HttpConnection:
        if self._endpoint.secure and self._context is None:
            with errors.HANDSHAKE:
                self._context = tls.client_context(self.connector.tls)
        return HttpConnection(self.location, self._context, self.connector)

    def _take(self) -> HttpConnection | None:
        while True:
            try:
                connection = self._idle.pop()  # the most recently used
            except IndexError:
                return None
            if connection.usable():
                return connection
            self._lose(connection)

    def _lose(self, connection: HttpConnection) -> None:
        connection.close()
        self._server = KnownServer()  # another server may listen by now

    def _keep(self, connection: HttpConnection) -> None:
        self._idle.append(connection)
        if self.users == 0:
            self.close_idle()
        elif len(self._idle) > MAX_IDLE:
            self._close_oldest()

    def close_idle(self) -> None:
        """Close the connections nobody uses now."""
        while self._close_oldest():
            pass

    def _close_oldest(self) -> bool:
        try:
            self._idle.popleft().close()
        except IndexError:
            return False
        return True

    def after_fork(self) -> None:
        """In a forked child: leave the parent's connections alone."""
        self.close_idle()  # closes the child's copies only
        self._server = KnownServer()


# Re-entrant: the garbage collector may release a backend while this thread holds it.
_lock = forks.Lock(threading.RLock)
_pools: dict[HttpConnector, HttpPool] = {}


def acquire(connector: HttpConnector) -> HttpPool:
    """Return the pool of all equal connectors, with one more user; see :func:`release`.

    Raises SettingsError for unusable PEM files.
    """
    with _lock:
        pool = _pools.get(connector)
        if pool is None:
            pool = _pools[connector] = HttpPool(connector)
        pool.users += 1
        return pool


def release(pool: HttpPool) -> None:
    """One user less; the last one closes what is idle."""
    with _lock:
        pool.users -= 1
        unused = pool.users == 0
        if unused and _pools.get(pool.connector) is pool:
            del _pools[pool.connector]
    if unused:
        pool.close_idle()

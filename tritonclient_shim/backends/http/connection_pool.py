"""Keep-alive connections, shared by all in the process whose connectors are equal.

Any thread may send; a connection belongs to one exchange at a time. Nothing is ever run
twice behind the user's back: see :meth:`HttpPool.request` for the failures that are repeated.
"""

from __future__ import annotations

import select
import ssl
import threading
from collections import deque
from typing import Iterator, Sequence

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.http import address, errors
from tritonclient_shim.backends.http.connector import HttpConnector, open_tunnel
from tritonclient_shim.backends.http.response import Reply, read_reply
from tritonclient_shim.core import forks
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import Buffer

MAX_IDLE = 64  # connections kept open per endpoint
MAX_IN_FLIGHT = 64  # asynchronous requests per endpoint; more wait their turn
LARGE = 1 << 16  # bytes; a piece from here on is sent from where it lies


class HttpConnection:
    """One connection; used by one thread at a time."""

    def __init__(
        self, location: address.Location, context: ssl.SSLContext | None, connector: HttpConnector
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
        self._location: address.Location | None = None
        self._context: ssl.SSLContext | None = None
        if connector.endpoint.secure and connector.tls != tls.DEFAULT:
            self._context = tls.client_context(connector.tls)
        self._idle: deque[HttpConnection] = deque()
        self.executor = DaemonExecutor(MAX_IN_FLIGHT, "tritonclient-shim-http")
        self.users = 0
        self._server = KnownServer()
        forks.tell(self)

    @property
    def location(self) -> address.Location:
        """The parsed address; TransportFault when it is none, at first use as in v1
        (docs/v1-behaviour.md §3.1).
        """
        if self._location is None:
            with errors.ADDRESS:
                self._location = address.parse(self._endpoint.address, self._endpoint.secure)
        return self._location

    def known_server(self) -> KnownServer:
        """What is known of the server, as long as its connections last."""
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
    """The pool of all equal connectors, with one more user; give it back with :func:`release`.

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

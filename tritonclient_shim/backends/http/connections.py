"""Pooled connections, shared by all in the process that connect alike, and clients of them.

Any thread may send; a connection belongs to one request at a time. Nothing is ever run twice
behind the user's back: see :meth:`HttpPool.request` for the failures that are repeated.
"""

from __future__ import annotations

import select
import socket
import weakref
from functools import cached_property, lru_cache, partial
from io import BufferedReader
from typing import Any, Callable, Iterable, Mapping, Sequence, Tuple
from weakref import WeakValueDictionary

from tritonclient_shim.backends import tls
from tritonclient_shim.backends.base import current_headers
from tritonclient_shim.backends.http.connector import (
    HttpConnector,
    Location,
    connector_for,
    parse,
)
from tritonclient_shim.backends.http.errors import (
    ADDRESS,
    PREFIX,
    SEND,
    Unanswered,
    Unsent,
)
from tritonclient_shim.backends.http.response import Reply, read_reply
from tritonclient_shim.concurrency import forks
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import Buffer, Endpoint
from tritonclient_shim.servers.known import KnownServer
from tritonclient_shim.settings import DEFAULTS, Settings
from tritonclient_shim.settings.values import HEADER_NAME, HEADER_VALUE

LARGE = 1 << 16  # bytes; a piece from here on is sent from where it lies
_MOST_CLOSED = 2  # idle connections, whenever another one becomes idle
#: Asynchronous requests of one client at one time; more wait their turn. v1 had no limit. This one
#: leaves files to a process that may open the usual 1024.
MAX_IN_FLIGHT = 256
#: Seconds. A closed client leaves its idle threads for this time.
_THREAD_LINGER = 1.0
#: Headers that describe a message or choose its form. The user's would break the message, or make
#: the reply unreadable (docs/v2-mapping.md §9).
_OURS = frozenset(
    (
        "accept-encoding",
        "content-encoding",
        "content-length",
        "inference-header-content-length",
        "transfer-encoding",
    )
)
_NO_HEADERS: Mapping[str, Any] = {}
_Items = Tuple[Tuple[str, Any], ...]


class HttpConnection:
    """One connection; used by one thread at a time."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._received = connected.makefile("rb", buffering=0)
        self._events = _events_of(connected)

    def usable(self) -> bool:
        """False when the server has closed the idle connection, or has sent something unasked."""
        return not self._events(0)

    def exchange(self, parts: Sequence[Buffer]) -> tuple[Reply, bool]:
        """Send one request, receive its answer; also whether the connection may be kept."""
        try:
            for part in parts:
                self._socket.sendall(part)
        except SEND.exceptions as failure:
            return self._early_answer(failure), False
        stream = BufferedReader(self._received)
        try:
            return read_reply(stream)
        finally:
            stream.detach()  # the connection stays open

    def _early_answer(self, failure: BaseException) -> Reply:
        """Return the answer to a request that could not be sent completely.

        A server may refuse an upload before it has read the upload. Raise the error of ``failure``
        if the server has sent nothing.
        """
        try:
            stream = BufferedReader(self._received)
            is_begun = bool(self._events(0) and stream.peek(1))
        except (OSError, ValueError):  # it is lost, or closed
            is_begun = False
        if not is_begun:
            raise SEND.error_of(failure) from failure
        reply, _may_be_kept = read_reply(stream)
        return reply

    def close(self) -> None:
        """Close the socket; idempotent."""
        self._received.close()
        self._socket.close()


def _events_of(connected: socket.socket) -> Callable[[int], Sequence[object]]:
    """Return a function that returns a list, not empty if the socket has bytes to read, or its end.

    The function takes the time to wait.
    """
    if not hasattr(select, "poll"):  # eventlet removes it, and Windows has none
        return lambda timeout: select.select([connected], [], [], timeout)[0]
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return poll.poll


def _parts(pieces: Sequence[Buffer], sizes: Sequence[int]) -> list[Buffer]:
    """Return the same bytes with small neighbours joined and large pieces as they are."""
    if max(sizes) < LARGE:  # such as 1,000 batch entries
        return [b"".join(pieces)]
    parts: list[Buffer] = []
    small: list[Buffer] = []
    for size, piece in zip(sizes, pieces):
        if size < LARGE:
            small.append(piece)
            continue
        parts.append(b"".join(small))
        small.clear()
        parts.append(piece)
    if small:
        parts.append(b"".join(small))
    return parts


class HttpPool:
    """The connections that one connector makes."""

    def __init__(self, connector: HttpConnector) -> None:
        self.connector = connector
        self._context = tls.client_context(connector.tls) if connector.endpoint.secure else None
        self._idle: list[HttpConnection] = []
        self.server = KnownServer()
        forks.repair(self)
        weakref.finalize(self, _close_all, self._idle).atexit = False

    @cached_property
    def location(self) -> Location:
        """The parsed address; TransportError when it is none, at first use as in v1
        (docs/v1-behaviour.md §3.1).
        """
        endpoint = self.connector.endpoint
        try:
            return parse(endpoint.address, endpoint.secure)
        except ADDRESS.exceptions as failure:
            raise ADDRESS.error_of(failure) from failure

    def request(self, parts: Sequence[Buffer], repeatable: bool = False) -> Reply:
        """Send a complete request, part by part; return the answer, whatever its status.

        A request that fails on a connection kept from earlier is repeated on a fresh one,
        once, in two cases: the server cannot have received all of it, or it is ``repeatable``
        (a GET) and not one byte of an answer came. A POST that was sent completely and not answered
        may have been executed; it fails. A server restarted between two calls is thus
        reached at once (docs/v1-behaviour.md §E.7): its closed connection is seen before sending.
        """
        forks.notice()  # else a child would share kept connections with its parent
        kept = self._take()
        if kept is not None:
            try:
                return self._exchange(kept, parts)
            except Unsent:
                pass
            except Unanswered:
                if not repeatable:
                    raise
        connected = self.connector.connect(self.location, self._context)
        return self._exchange(HttpConnection(connected), parts)

    def _exchange(self, connection: HttpConnection, parts: Sequence[Buffer]) -> Reply:
        try:
            reply, keep = connection.exchange(parts)
        except BaseException:  # whatever it is, half an exchange may be on the connection
            self._lose(connection)
            raise
        if keep:
            self._idle.append(connection)
            if len(self._idle) > 1:
                self._close_oldest()
        else:
            connection.close()
        return reply

    def _take(self) -> HttpConnection | None:
        while True:
            try:
                connection = self._idle.pop()  # the most recently used
            except IndexError:
                return None
            if connection.usable():
                return connection
            self._lose(connection)

    def _close_oldest(self) -> None:
        """Close the longest unused connections, a few at most, if the server has closed them.

        Else the connections of a burst stay half closed as long as one connection is enough.
        """
        for _ in range(_MOST_CLOSED):
            try:
                connection = self._idle.pop(0)
            except IndexError:
                return
            if connection.usable():
                self._idle.insert(0, connection)
                return
            connection.close()

    def _lose(self, connection: HttpConnection) -> None:
        connection.close()
        self.server = KnownServer()  # another server may listen by now

    def drop_idle_connections(self) -> None:
        """Close the connections that no request uses."""
        _close_all(self._idle)
        self.server = KnownServer()

    def after_fork(self) -> None:
        """In a forked child: leave the parent's connections alone."""
        _close_all(self._idle)  # closes the child's copies only
        self.server = KnownServer()


def _close_all(idle: list[HttpConnection]) -> None:
    while idle:
        idle.pop().close()


#: A pool lasts as long as its clients and their requests.
_pools: WeakValueDictionary[HttpConnector, HttpPool] = WeakValueDictionary()


def pool_of(connector: HttpConnector) -> HttpPool:
    """Return the pool of all equal connectors; SettingsError for unusable PEM files."""
    return _pools.get(connector) or _pools.setdefault(connector, HttpPool(connector))


def usable_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """User's (name, value) pairs → what is sent of them, sorted by name
    (docs/v1-behaviour.md §6.6).

    The last of equal names wins, names in the server's eyes equal included; a header without
    value is left out, and so are those in ``_OURS``. ValueError for a name or value that no HTTP
    message can carry.
    """
    for name, value in headers:
        if not HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an HTTP header")
        if not HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the value of HTTP header {name!r} has control characters: {value!r}")
    chosen = _by_name(headers).items()
    return dict(sorted(pair for key, pair in chosen if key not in _OURS and pair[1]))


def _by_name(headers: Iterable[tuple[str, Any]]) -> dict[str, tuple[str, Any]]:
    """Headers → headers by lower-case name; the last of equal names wins."""
    return {name.lower(): (name, value) for name, value in headers}


class HttpClient:
    """Sends requests with ``headers`` added to each, until it is closed; from any thread.

    ``pool`` has the connections of all clients that connect alike. ``executor`` has the threads of
    this client's asynchronous requests, so that those of another client never wait for them.
    """

    def __init__(
        self, endpoint: Endpoint, headers: dict[str, str], settings: Settings = DEFAULTS
    ) -> None:
        self._headers = headers
        self._pool: HttpPool | None = pool_of(connector_for(endpoint, settings))
        self._proxy = None if endpoint.secure else self.pool.connector.proxy
        #: Heads of requests. To make one takes 6 µs, of some 140 µs of CPU per small run.
        self._head = lru_cache(maxsize=64)(self._new_head)
        self.executor = DaemonExecutor(MAX_IN_FLIGHT, "tritonclient-shim-http", _THREAD_LINGER)

    @property
    def pool(self) -> HttpPool:
        """Return the pool; TransportError after :meth:`close`."""
        if self._pool is None:
            raise TransportError(f"{PREFIX}this connection has been closed")
        return self._pool

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, Any] = _NO_HEADERS,
        body: Sequence[Buffer] = (),
    ) -> Reply:
        """Send one request, return its reply; TransportError without one. See :meth:`prepare`."""
        return self.prepare(method, path, headers, body)()

    def prepare(
        self, method: str, path: str, headers: Mapping[str, Any], body: Sequence[Buffer] = ()
    ) -> Callable[[], Reply]:
        """Return a function that sends the request, also after ``close``, and returns the reply.

        ``path`` is below the prefix of the endpoint. ``headers`` replace those of the thread's
        calls, and these the client's own. Large pieces of ``body`` are read when the function runs.
        """
        pool = self._pool or self.pool
        head = self._head(method, path, (*current_headers(), *headers.items()))
        sizes = [memoryview(piece).nbytes for piece in body]
        if method == "POST":
            head += b"Content-Length: %d\r\n" % sum(sizes)
        head += b"\r\n"
        parts = _parts([head, *body], [len(head), *sizes])
        return partial(pool.request, parts, method == "GET")

    def drop_idle_connections(self) -> None:
        """Close the connections that no request uses, because one of them is out of step."""
        pool = self._pool
        if pool is not None:
            pool.drop_idle_connections()

    def close(self) -> None:
        """Give up the share of the pool; idempotent."""
        self._pool = None

    def _new_head(self, method: str, path: str, headers: _Items) -> bytes:
        """Return the first line of a request, and the headers: the address's and the user's.

        A header without value is left out.
        """
        location = self.pool.location
        origin = f"http://{location.host_header}" if self._proxy else ""  # proxies want it
        own = {
            "Host": location.host_header,
            "Authorization": location.authorization,
            "Accept": "*/*",
            "Content-Type": "application/octet-stream",
            "Proxy-Authorization": self._proxy.authorization if self._proxy else "",
        }
        sent = _by_name((*own.items(), *self._headers.items(), *headers))
        lines = [f"{method} {origin}{location.prefix}{path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in sent.values() if value or value == 0]
        return "\r\n".join([*lines, ""]).encode()

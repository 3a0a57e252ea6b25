"""Limits of HTTP connections: their number and age, and the time in which a head must arrive.

aiohttp limits none of these. A connection on which no request is being answered is in one of two
states. Either the head of a request is awaited, the first one or one that has begun to arrive, and
there is a time limit. Or the connection is idle, and stays open until its place is needed.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tritonclient_shim.gateway.http.body_limits import BAD_REQUEST, REQUEST_TIMEOUT, BodyRefused

#: Bytes of one head. NV-InferRequest names every input, output and shape of a request.
LONGEST_FIELD = 1024 * 1024
_LONGEST_HEAD = 4 * LONGEST_FIELD
#: Seconds that the head of a request may take while new connections exceed the limit.
_FAIR_WAIT = 1.0

MALFORMED = (
    "the request is not understood: {0}: expected a request of HTTP/1.1 with a head of at most "
    f"{_LONGEST_HEAD} bytes, no field of it longer than {LONGEST_FIELD}"
)
_LATE = (
    "the head of the request did not arrive within {0:g} seconds: send the request again, or "
    "start the gateway with a larger --client-timeout"
)

#: HTTP status and text → the answer to a request whose head is malformed or came too late.
RefuseHead = Callable[[int, str], web.Response]


class ClientConnection(web.RequestHandler):
    """One connection of a client, as the protocol object that asyncio calls."""

    def __init__(self, server: Any, connections: Connections, **options: Any) -> None:
        super().__init__(server, **options)
        self._all = connections
        self._made = time.monotonic()
        self.is_new = True  # no request has come yet
        self.head_bytes = 0  # received of a head that is not complete yet
        self.content: Any = None  # aiohttp's stream of the latest request's body
        self._newest_body: Any = None  # the same of the latest request that has begun to arrive
        self._sends_no_more = False  # its client has closed its side of the connection

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._all.made(self)

    def data_received(self, data: bytes) -> None:
        self._all.heard(self, len(data))
        super().data_received(data)
        if self._waiting():
            self._newest_body = self._waiting()[-1][1]
        if self.receiving():
            self._look_for_error()

    def receiving(self) -> bool:
        """Is the body of the latest request still arriving, whether anybody reads it or not?"""
        return self.content is not None and not self.content.is_eof()

    def eof_received(self) -> bool:
        """The client sends no more; true keeps the connection for answers that it waits for."""
        super().eof_received()
        # aiohttp has a "waiter" while it waits for a request
        waits = self._waiting() or getattr(self, "_waiter", None) is None
        complete = self._newest_body is not None and self._newest_body.is_eof()
        encrypted = self.transport is None or self.transport.get_extra_info("sslcontext")
        self._sends_no_more = bool(waits and complete and not encrypted)
        return self._sends_no_more

    def _waiting(self) -> Any:
        """The requests behind the one that is being answered, and their bodies."""
        return getattr(self, "_messages", ())

    def has_ended(self) -> bool:
        """Is the request that is being answered the last one that can come?"""
        return self._sends_no_more and not self._waiting()

    def is_old(self) -> bool:
        """Has the connection been used for long enough, and is no other request behind this?"""
        limit = self._all.max_age
        return limit is not None and time.monotonic() - self._made > limit and not self._waiting()

    def _look_for_error(self) -> None:
        """Malformed chunks fail the body to which they belong.

        aiohttp reports them as a further request, which nobody would look at before the end of
        that body.
        """
        for message, _ in self._waiting():
            error = getattr(message, "exc", None)
            if error is not None:
                self.content.set_exception(web.RequestPayloadError(reason(error)))

    def connection_lost(self, exc: BaseException | None) -> None:
        self._all.lost(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: Any,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to bytes that are no HTTP request; aiohttp would log a traceback as well."""
        if status != BAD_REQUEST:
            return super().handle_error(request, status, exc, message)
        response = self._all.refuse_head(BAD_REQUEST, MALFORMED.format(reason(exc or message)))
        response.force_close()
        return response

    def log_exception(self, *args: Any, exc_info: Any = None, **more: Any) -> None:
        """Log what failed, unless it was the rest of a body that nobody reads any more."""
        if not isinstance(exc_info, (web.RequestPayloadError, HttpProcessingError, BodyRefused)):
            super().log_exception(*args, exc_info=exc_info, **more)

    def dismiss(self, code: int, text: str) -> None:
        """Close the connection; if a head has begun to arrive, answer it first."""
        if self.head_bytes and self.transport is not None:
            self.transport.write(serialised(self._all.refuse_head(code, text)))
        self.force_close()


def reason(error: Any) -> str:
    """aiohttp's reason why a request cannot be read, without the lines that quote the request."""
    text = str(getattr(error, "message", "") or error)
    return text.splitlines()[0].rstrip(": ") if text else "unreadable"


def serialised(response: web.Response) -> bytes:
    """The bytes of an answer without a body, to a request that aiohttp has not seen whole."""
    fields = {**response.headers, "Content-Length": "0", "Connection": "close"}
    lines = [f"HTTP/1.1 {response.status} {response.reason}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode()


class Connections:
    """All HTTP connections. It is made and used in one event loop."""

    def __init__(
        self,
        limit: int,
        timeout: float,
        refuse_head: RefuseHead,
        relieve: Callable[[], Any],
        max_age: float | None = None,
    ) -> None:
        self._limit = limit
        self._timeout = timeout
        self.max_age = max_age  # seconds for which a connection is used, None without a limit
        self.refuse_head = refuse_head
        self._relieve = relieve  # refuses the slowest body; true if there was one
        self._count = 0
        self.answering = 0  # requests that are being answered
        # Awaited heads with the times since when, and idle connections; the oldest first.
        self._heads: dict[ClientConnection, float] = {}
        self._idle: dict[ClientConnection, None] = {}
        # Accepted, and not ready yet: asyncio takes a few turns of its loop, TLS a handshake. Weak,
        # because nobody tells of a handshake that fails.
        self._coming: weakref.WeakSet[ClientConnection] = weakref.WeakSet()

    def accepted(self, connection: ClientConnection) -> None:
        """A client has connected; :meth:`made` follows, unless its TLS handshake fails."""
        self._coming.add(connection)

    def made(self, connection: ClientConnection) -> None:
        """A connection is ready; the head of its first request is awaited."""
        self._coming.discard(connection)
        self._count += 1
        self._heads[connection] = time.monotonic()
        if self._count > self._limit:
            self._make_room(connection)

    def _make_room(self, newest: ClientConnection) -> None:
        oldest, since = next(iter(self._heads.items()))
        if time.monotonic() - since > _FAIR_WAIT:
            self._late(oldest)
        elif self._idle:
            idle = next(iter(self._idle))
            del self._idle[idle]
            idle.force_close()
        elif not self._relieve():
            newest.force_close()

    def heard(self, connection: ClientConnection, size: int) -> None:
        """Bytes have arrived. They belong to a head unless a request is being answered, or the
        body of the last one still arrives.
        """
        if connection in self._idle and not connection.receiving():
            del self._idle[connection]
            connection.head_bytes = 0
            self._heads[connection] = time.monotonic()
        if connection in self._heads:
            connection.head_bytes += size
            if connection.head_bytes > _LONGEST_HEAD:
                connection.dismiss(BAD_REQUEST, MALFORMED.format("its head is too long"))

    @contextmanager
    def request(self, connection: Any, content: Any) -> Iterator[None]:
        """The head of a request is complete; it is answered inside the ``with`` block."""
        self._heads.pop(connection, None)
        self._idle.pop(connection, None)
        connection.content = content
        connection.is_new = False
        self.answering += 1
        try:
            yield
        finally:
            self.answering -= 1
            if connection.transport is not None:
                self._idle[connection] = None

    def awaits_first(self) -> bool:
        """Has a client connected whose first request is still to come, or to come completely?"""
        return bool(self._coming) or any(one.is_new for one in self._heads)

    def lost(self, connection: ClientConnection) -> None:
        """A connection has been closed, by its client or by the gateway."""
        self._count -= 1
        self._heads.pop(connection, None)
        self._idle.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Close the connections whose heads have exceeded the time limit. Called periodically."""
        for connection, since in [*self._heads.items()]:
            if now - since <= self._timeout:
                break
            self._late(connection)

    def _late(self, connection: ClientConnection) -> None:
        self._heads.pop(connection, None)
        connection.dismiss(REQUEST_TIMEOUT, _LATE.format(self._timeout))


class _HttpRequest(web.BaseRequest):
    """A request, whose answer does not tell by which programs it was made: v1's did not."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts, loop=asyncio.get_running_loop())

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        response.headers.pop("Server", None)


class HttpServer(web.Server):
    """aiohttp's server, with :class:`ClientConnection` for its connections."""

    def __init__(self, handler: Any, connections: Connections, **options: Any) -> None:
        super().__init__(handler, request_factory=_HttpRequest)
        self._all = connections
        self._options = options

    def __call__(self) -> ClientConnection:
        loop = asyncio.get_running_loop()
        connection = ClientConnection(self, self._all, loop=loop, **self._options)
        self._all.accepted(connection)
        return connection

"""HTTP connections: how many there are, and how long a client may take for a request's head.

aiohttp bounds neither. A connection without a request in hand is one of two kinds: its first
request, or the head of the next one, is being waited for and has a time limit; or it is idle,
which it may be for as long as there is room for connections.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tritonclient_shim.gateway.bodies import BAD_REQUEST, REQUEST_TIMEOUT, BodyRefused

#: Bytes of one head. NV-InferRequest names every input, output and shape of a request.
LONGEST_FIELD = 1024 * 1024
_LONGEST_HEAD = 4 * LONGEST_FIELD
#: Seconds that the head of a request may take while others wait for a connection.
_FAIR_WAIT = 1.0

MALFORMED = (
    "the request is not understood: {0}: expected a request of HTTP/1.1 with a head of at most "
    f"{_LONGEST_HEAD} bytes, no field of it longer than {LONGEST_FIELD}"
)
_LATE = (
    "the head of the request did not arrive within {0:g} seconds: send the request again, or "
    "start the gateway with a larger --client-timeout"
)

#: What is said to a client whose head cannot be answered in the usual way: code, text → answer.
Tell = Callable[[int, str], web.Response]


class Connection(web.RequestHandler):
    """One connection; asyncio calls it."""

    def __init__(self, server: Any, connections: Connections, **options: Any) -> None:
        super().__init__(server, **options)
        self._all = connections
        self.head_bytes = 0  # since the last request
        self.content: Any = None  # where the body of the latest request arrives

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._all.made(self)

    def data_received(self, data: bytes) -> None:
        self._all.heard(self, len(data))
        super().data_received(data)
        if self.receiving():
            self._look_for_error()

    def receiving(self) -> bool:
        """Is there more to come of a body, wanted or not?"""
        return self.content is not None and not self.content.is_eof()

    def _look_for_error(self) -> None:
        """Chunks that are none: aiohttp tells it after the request whose body they should be."""
        for message, _ in getattr(self, "_messages", ()):
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
        """The answer to what is no HTTP; aiohttp's own would log it with a traceback."""
        if status != BAD_REQUEST:
            return super().handle_error(request, status, exc, message)
        response = self._all.tell(BAD_REQUEST, MALFORMED.format(reason(exc or message)))
        response.force_close()
        return response

    def log_exception(self, *args: Any, exc_info: Any = None, **more: Any) -> None:
        """Called when the rest of a body, which nobody wants, cannot be read: no error of ours."""
        if not isinstance(exc_info, (web.RequestPayloadError, HttpProcessingError, BodyRefused)):
            super().log_exception(*args, exc_info=exc_info, **more)

    def dismiss(self, code: int, text: str) -> None:
        """Close, after an answer if a request has begun."""
        if self.head_bytes and self.transport is not None:
            self.transport.write(serialised(self._all.tell(code, text)))
        self.force_close()


def reason(error: Any) -> str:
    """What aiohttp says of a request that it cannot read; it shows the place in further lines."""
    text = str(getattr(error, "message", "") or error)
    return text.splitlines()[0].rstrip(": ") if text else "unreadable"


def serialised(response: web.Response) -> bytes:
    """An answer without a body as it is sent, for a request that aiohttp does not know of."""
    fields = {**response.headers, "Content-Length": "0", "Connection": "close"}
    lines = [f"HTTP/1.1 {response.status} {response.reason}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode()


class Connections:
    """All connections of one front; to be made and used in one event loop."""

    def __init__(self, limit: int, timeout: float, tell: Tell, relieve: Callable[[], Any]) -> None:
        self._limit = limit
        self._timeout = timeout
        self.tell = tell
        self._relieve = relieve  # has a connection with a slow body closed
        self._count = 0
        # Both in order of time.
        self._heads: dict[Connection, float] = {}
        self._idle: dict[Connection, None] = {}

    def made(self, connection: Connection) -> None:
        """A client has connected; the head of its request is waited for."""
        self._count += 1
        self._heads[connection] = time.monotonic()
        if self._count > self._limit:
            self._make_room(connection)

    def _make_room(self, newest: Connection) -> None:
        oldest, since = next(iter(self._heads.items()))
        if time.monotonic() - since > _FAIR_WAIT:
            self._late(oldest)
        elif self._idle:
            idle = next(iter(self._idle))
            del self._idle[idle]
            idle.force_close()
        elif not self._relieve():
            newest.force_close()

    def heard(self, connection: Connection, size: int) -> None:
        """Bytes have come; those of a request in hand, or of its body, are none of a head."""
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
        """The head of a request is complete; the request is answered in the block."""
        self._heads.pop(connection, None)
        self._idle.pop(connection, None)
        connection.content = content
        try:
            yield
        finally:
            if connection.transport is not None:
                self._idle[connection] = None

    def lost(self, connection: Connection) -> None:
        """A connection has been closed, by whomever."""
        self._count -= 1
        self._heads.pop(connection, None)
        self._idle.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Close the connections of clients that have used up their time."""
        for connection, since in [*self._heads.items()]:
            if now - since <= self._timeout:
                break
            self._late(connection)

    def _late(self, connection: Connection) -> None:
        self._heads.pop(connection, None)
        connection.dismiss(REQUEST_TIMEOUT, _LATE.format(self._timeout))


class Server(web.Server):
    """aiohttp's server with connections of the kind above."""

    def __init__(self, handler: Any, connections: Connections, **options: Any) -> None:
        super().__init__(handler)
        self._all = connections
        self._options = options

    def __call__(self) -> Connection:
        loop = asyncio.get_running_loop()
        return Connection(self, self._all, loop=loop, **self._options)

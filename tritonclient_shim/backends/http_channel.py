"""One user's way to a server: the shared pool, the user's own headers, open until closed."""

from __future__ import annotations

import threading
import zlib
from functools import partial
from typing import Callable, Mapping, Sequence

from tritonclient_shim.backends import http_pool
from tritonclient_shim.backends.http_address import head_lines
from tritonclient_shim.backends.http_errors import PREFIX
from tritonclient_shim.backends.http_response import Reply
from tritonclient_shim.errors import ForeignFault, TransportFault
from tritonclient_shim.model import Buffer, Endpoint

_NO_HEADERS: Mapping[str, str] = {}
_DEFAULTS = {"Accept": "*/*", "Content-Type": "application/octet-stream"}


class Channel:
    """Sends requests with ``headers`` added to each. Usable from any thread."""

    def __init__(self, endpoint: Endpoint, headers: dict[str, str]) -> None:
        self._headers = headers
        self._pool = http_pool.use(endpoint)
        self._open = True
        self._closing = threading.RLock()
        self._lines: bytes | None = None

    @property
    def prefix(self) -> str:
        """The path prefix of the endpoint, '' or '/…'; TransportFault for a bad address."""
        return self._pool.location.prefix

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: Sequence[Buffer] = (),
    ) -> Reply:
        """One exchange; ``path`` starts with the prefix. TransportFault without an answer."""
        return self.prepare(method, path, headers, body)()

    def prepare(
        self, method: str, path: str, headers: Mapping[str, str], body: Sequence[Buffer]
    ) -> Callable[[], Reply]:
        """The same in two steps: the exchange prepared now runs later, even after ``close``.

        The pieces of ``body``, one after the other, are read when it runs.
        """
        if not self._open:
            raise TransportFault(f"{PREFIX}this connection has been closed")
        lines = [f"{method} {path} HTTP/1.1\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in headers.items()]
        if method == "POST":
            lines.append(f"Content-Length: {sum(memoryview(one).nbytes for one in body)}\r\n")
        head = "".join(lines).encode() + self._own_lines()
        return partial(_exchange, self._pool, (head, *body), method == "GET")

    def submit(self, job: Callable[[], None]) -> None:
        """Run ``job`` on one of the pool's threads."""
        self._pool.senders.submit(job)

    def close(self) -> None:
        """Give up the share of the pool; idempotent."""
        with self._closing:
            was_open, self._open = self._open, False
        if was_open:
            http_pool.release(self._pool)

    def _own_lines(self) -> bytes:
        """The end of every request head: what the address and the user's headers say."""
        if self._lines is None:
            location = self._pool.location
            address = {"Host": location.host_header, "Authorization": location.authorization}
            self._lines = head_lines({**address, **_DEFAULTS}, self._headers) + b"\r\n"
        return self._lines


def _exchange(pool: http_pool.HttpPool, pieces: Sequence[Buffer], repeatable: bool) -> Reply:
    return _decoded(pool.request(pieces, repeatable))


def _decoded(reply: Reply) -> Reply:
    """Reply → the same with a plain body; only a user's Accept-Encoding can make it compressed."""
    if reply.headers.get("content-encoding") not in ("gzip", "deflate"):
        return reply
    try:
        return reply._replace(body=zlib.decompress(reply.body, zlib.MAX_WBITS | 32))
    except zlib.error as error:
        raise ForeignFault(f"the answer is not compressed as it says: {error}") from error

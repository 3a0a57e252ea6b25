"""The HTTP client of one backend: a share of a pool, headers and compression of each request."""

from __future__ import annotations

import gzip
import zlib
from functools import lru_cache, partial
from typing import Any, Callable, Mapping, Sequence, Tuple

from tritonclient_shim.backends.headers import current_headers, headers_after, plugin_of
from tritonclient_shim.backends.http import connections
from tritonclient_shim.backends.http.connections import connector_for
from tritonclient_shim.backends.http.errors import PREFIX
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import ForeignFault, TransportFault
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import Buffer, Endpoint
from tritonclient_shim.settings import DEFAULTS, Settings
from tritonclient_shim.settings.values import HEADER_NAME, HEADER_VALUE

#: Headers that describe the message itself: the user's would break it (docs/v2-mapping.md §9).
_OURS = frozenset(("content-length", "transfer-encoding", "inference-header-content-length"))
_NO_HEADERS: Mapping[str, Any] = {}
_Items = Tuple[Tuple[str, Any], ...]
_COMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,  # HTTP's deflate is zlib's format
}


def usable_headers(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """User's (name, value) pairs → what is sent of them, sorted by name
    (docs/v1-behaviour.md §6.6).

    The last of equal names wins, names in the server's eyes equal included; a header without
    value and one that describes the message itself are left out. ValueError for a name or
    value that no HTTP message can carry.
    """
    chosen: dict[str, tuple[str, str]] = {}
    for name, value in headers:
        if not HEADER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of an HTTP header")
        if not HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the value of HTTP header {name!r} has control characters: {value!r}")
        chosen[name.lower()] = (name, value)
    kept = (pair for key, pair in chosen.items() if key not in _OURS and pair[1])
    return dict(sorted(kept))


def merged(defaults: Mapping[str, Any], headers: Mapping[str, Any]) -> dict[str, Any]:
    """Default headers, overridden by those of the same name in whatever case."""
    given = {name.lower() for name in headers}
    rest = {name: value for name, value in defaults.items() if name.lower() not in given}
    return {**rest, **headers}


def head_lines(headers: Mapping[str, Any]) -> bytes:
    """Headers → their lines in a request head; those without value are left out."""
    lines = (f"{name}: {value}\r\n" for name, value in headers.items() if value or value == 0)
    return "".join(lines).encode()


def compressed(encoding: str, pieces: Sequence[Buffer]) -> bytes:
    """Pieces of a body → one compressed body; ``encoding`` is gzip or deflate."""
    return _COMPRESS[encoding](b"".join(pieces))


class HttpClient:
    """Sends requests with ``headers`` added to each, until it is closed; from any thread."""

    def __init__(
        self, endpoint: Endpoint, headers: dict[str, str], settings: Settings = DEFAULTS
    ) -> None:
        self._headers = headers
        self._encoding = settings.http_response_compression
        self._plugin = plugin_of(settings)
        self._pool = connections.acquire(connector_for(endpoint, settings))
        self._proxy = None if endpoint.secure else self._pool.connector.proxy
        self._open = True
        # a plugin may change the headers of every request
        self._end = self._head_end if self._plugin else lru_cache(maxsize=64)(self._head_end)

    @property
    def executor(self) -> DaemonExecutor:
        """Return the threads of the endpoint's asynchronous requests, 64 at most."""
        return self._pool.executor

    def check_address(self) -> None:
        """Raise TransportFault if the address of the endpoint is none."""
        self._pool.location  # noqa: B018  parsed at the first use

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind the connections."""
        return self._pool.known_server()

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, Any] = _NO_HEADERS,
        body: Sequence[Buffer] = (),
    ) -> Reply:
        """Send one request, return its reply; TransportFault without one.

        ``headers`` replace those of the thread's calls, and these the client's own.
        """
        return self.prepare(method, path, merged(dict(current_headers()), headers), body)()

    def prepare(
        self, method: str, path: str, headers: Mapping[str, Any], body: Sequence[Buffer] = ()
    ) -> Callable[[], Reply]:
        """Return a function that sends the request, also after ``close``, and returns the reply.

        ``path`` is below the prefix of the endpoint. ``headers`` replace the client's own. The
        pieces of ``body`` are read when the function runs.
        """
        if not self._open:
            raise TransportFault(f"{PREFIX}this connection has been closed")
        location = self._pool.location
        origin = f"http://{location.host_header}" if self._proxy else ""  # proxies want it
        head = f"{method} {origin}{location.prefix}{path} HTTP/1.1\r\n"
        if method == "POST":
            head += f"Content-Length: {sum(memoryview(piece).nbytes for piece in body)}\r\n"
        pieces = (head.encode() + self._end(tuple(headers.items())), *body)
        return partial(_run, self._pool, pieces, method == "GET")

    def close(self) -> None:
        """Give up the share of the pool; to be called once."""
        self._open = False
        connections.release(self._pool)

    def _head_end(self, headers: _Items) -> bytes:
        """Return the header lines of a request: the address's, the user's, and the plugin's."""
        location = self._pool.location
        own = {
            "Host": location.host_header,
            "Authorization": location.authorization,
            "Accept": "*/*",
            "Content-Type": "application/octet-stream",
            "Proxy-Authorization": self._proxy.authorization if self._proxy else "",
            "Accept-Encoding": "" if self._encoding == "none" else self._encoding,
        }
        everything = merged(merged(own, self._headers), dict(headers))
        return head_lines(self._after_plugin(everything)) + b"\r\n"

    def _after_plugin(self, headers: dict[str, Any]) -> dict[str, Any]:
        """Apply the plugin; its new headers replace old ones of their names in any case."""
        if self._plugin is None:
            return headers
        changed = headers_after(self._plugin, dict(headers))
        kept = {name: value for name, value in changed.items() if headers.get(name) == value}
        new = {name: value for name, value in changed.items() if name not in kept}
        return merged(kept, new)


def _run(pool: connections.HttpPool, pieces: Sequence[Buffer], repeatable: bool) -> Reply:
    return _decompressed(pool.request(pieces, repeatable))


def _decompressed(reply: Reply) -> Reply:
    """Reply → the same with a plain body; only an Accept-Encoding can make it compressed."""
    if reply.headers.get("content-encoding") not in _COMPRESS:
        return reply
    headers = {name: text for name, text in reply.headers.items() if name != "content-encoding"}
    try:
        body = zlib.decompress(reply.body, zlib.MAX_WBITS | 32)
    except (zlib.error, MemoryError) as error:
        raise ForeignFault(f"the answer is not compressed as it says: {error!r}") from error
    return Reply(reply.status, headers, body)

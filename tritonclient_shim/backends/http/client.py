"""The HTTP client of one backend: a share of a pool, and headers for each request."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Mapping, Sequence

from tritonclient_shim.backends import call_headers
from tritonclient_shim.backends.base import CallHeaders
from tritonclient_shim.backends.http import connection_pool
from tritonclient_shim.backends.http.address import head_lines, merged
from tritonclient_shim.backends.http.compression import decoded
from tritonclient_shim.backends.http.connector import connector_for
from tritonclient_shim.backends.http.errors import PREFIX
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.backends.plugins import headers_after, plugin_of
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import Buffer, Endpoint
from tritonclient_shim.settings import DEFAULTS, Settings

_NO_HEADERS: Mapping[str, Any] = {}


class HttpClient:
    """Sends requests with ``headers`` added to each, until it is closed; from any thread."""

    def __init__(
        self, endpoint: Endpoint, headers: dict[str, str], settings: Settings = DEFAULTS
    ) -> None:
        self._headers = headers
        self._encoding = settings.http_response_compression
        self._plugin = plugin_of(settings)
        self._pool = connection_pool.acquire(connector_for(endpoint, settings))
        self._proxy = None if endpoint.secure else self._pool.connector.proxy
        # a proxy is told the whole url
        self._origin = f"http://{self._pool.location.host_header}" if self._proxy else ""
        self._open = True
        self._lines: bytes | None = None

    def check_address(self) -> None:
        """Raise TransportFault if the address of the endpoint is none."""
        self._pool.location  # noqa: B018  parsed at the first use

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, Any] = _NO_HEADERS,
        body: Sequence[Buffer] = (),
    ) -> Reply:
        """Send one request, return its reply; TransportFault without one.

        ``path`` is below the prefix of the endpoint.

        ``headers`` replace those of the thread's calls, and these the client's own of that name.
        """
        if call_headers.current():
            headers = merged(dict(call_headers.current()), headers)
        end = head_lines(self._all_headers(headers)) + b"\r\n" if headers else self._end(headers)
        return self._exchange(method, path, b"", end, body)()

    def prepare(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Sequence[Buffer],
        replacing: CallHeaders = (),
    ) -> Callable[[], Reply]:
        """The same in two steps: the exchange prepared now runs later, even after ``close``.

        The pieces of ``body``, one after the other, are read when it runs. ``headers`` must be
        others than the client's own, and those of ``replacing`` need not.
        """
        if replacing:
            end = head_lines(self._all_headers({**headers, **dict(replacing)})) + b"\r\n"
            return self._exchange(method, path, b"", end, body)
        first = head_lines(headers) if self._plugin is None else b""
        return self._exchange(method, path, first, self._end(headers), body)

    def _exchange(
        self, method: str, path: str, first: bytes, end: bytes, body: Sequence[Buffer]
    ) -> Callable[[], Reply]:
        if not self._open:
            raise TransportFault(f"{PREFIX}this connection has been closed")
        start = f"{method} {self._origin}{self._pool.location.prefix}{path} HTTP/1.1\r\n"
        if method == "POST":
            start += f"Content-Length: {sum(memoryview(one).nbytes for one in body)}\r\n"
        return partial(_run, self._pool, (start.encode() + first + end, *body), method == "GET")

    def known_server(self) -> KnownServer:
        """What is known of the server, shared with all that share its connections."""
        return self._pool.known_server()

    @property
    def executor(self) -> DaemonExecutor:
        """The threads of the endpoint's asynchronous requests, 64 at most."""
        return self._pool.executor

    def close(self) -> None:
        """Give up the share of the pool; to be called once."""
        self._open = False
        connection_pool.release(self._pool)

    def _end(self, headers: Mapping[str, Any]) -> bytes:
        """The end of a request head: what the address, the user and the plugin say.

        Without a plugin it is the same for every request; with one, ``headers`` are in it.
        """
        if self._plugin is not None:
            return head_lines(self._all_headers(headers)) + b"\r\n"
        if self._lines is None:
            self._lines = head_lines(self._all_headers(_NO_HEADERS)) + b"\r\n"
        return self._lines

    def _all_headers(self, headers: Mapping[str, Any]) -> dict[str, Any]:
        location = self._pool.location
        own = {
            "Host": location.host_header,
            "Authorization": location.authorization,
            "Accept": "*/*",
            "Content-Type": "application/octet-stream",
            "Proxy-Authorization": self._proxy.authorization if self._proxy else "",
            "Accept-Encoding": "" if self._encoding == "none" else self._encoding,
        }
        everything = merged(merged(own, self._headers), headers)
        return everything if self._plugin is None else self._after_plugin(everything)

    def _after_plugin(self, headers: dict[str, Any]) -> dict[str, Any]:
        """The headers as the plugin wants them; its new ones replace old ones of their names."""
        assert self._plugin is not None
        changed = headers_after(self._plugin, dict(headers))
        kept = {name: value for name, value in changed.items() if headers.get(name) == value}
        new = {name: value for name, value in changed.items() if name not in kept}
        return merged(kept, new)


def _run(pool: connection_pool.HttpPool, pieces: Sequence[Buffer], repeatable: bool) -> Reply:
    return decoded(pool.request(pieces, repeatable))

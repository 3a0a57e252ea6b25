"""The tritonclient client that users get from ``unwrap()``, on the connections of a backend.

It is no client of tritonclient's alone, one per thread, because ``unwrap()`` returns one object. It
obeys the context's proxy, TLS settings, headers and time limits, and ends with the context.
tritonclient has no settings for some of these.

tritonclient's methods reach the network through ``_client_stub``, and asynchronously through
``_pool``. With objects of ours in those places they work from any thread, without gevent's sockets.
tritonclient.http, and with it gevent, is imported when the first such client is made.
"""

from __future__ import annotations

import gc
import sys
from concurrent.futures import Future, TimeoutError, wait
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Mapping

from tritonclient_shim.backends.clients import with_both_errors
from tritonclient_shim.backends.http.connections import HttpClient
from tritonclient_shim.backends.http.response import Reply
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import InferenceServerException, TransportError


class StubResponse:
    """An answer in the form tritonclient reads it."""

    def __init__(self, reply: Reply) -> None:
        self.status_code = reply.status
        self._headers = reply.headers
        self._body = reply.body
        self._position = 0

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return a header by its case-insensitive name."""
        return self._headers.get(name.lower(), default)

    def read(self, length: int = -1) -> bytes:
        """Return the next ``length`` bytes of the body, -1: all the rest."""
        start = self._position
        self._position = len(self._body) if length < 0 else start + length
        return bytes(memoryview(self._body)[start : self._position])


class UserStub:
    """Stands in for ``_client_stub``: what tritonclient's methods send their requests with.

    Refusals are left to tritonclient. Transport errors are the original exceptions, such as
    ConnectionRefusedError.
    """

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def get(self, request_uri: str, headers: Mapping[str, str] | None = None) -> StubResponse:
        """GET."""
        return self._send("GET", request_uri, headers or {}, ())

    def post(
        self, request_uri: str, body: Any = b"", headers: Mapping[str, str] | None = None
    ) -> StubResponse:
        """POST."""
        content = body.encode() if isinstance(body, str) else body
        return self._send("POST", request_uri, headers or {}, (content,))

    def _send(
        self, method: str, uri: str, headers: Mapping[str, str], body: tuple[Any, ...]
    ) -> StubResponse:
        try:
            return StubResponse(self._http.send(method, uri, headers, body))
        except TransportError as error:
            raise (error.__cause__ or InferenceServerException(error.message)) from None

    def close(self) -> None:
        """Leave the connections open: they are the context's."""


class Deferred:
    """A request under way, in the form of a greenlet."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def start(self) -> None:
        """It runs already."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Return the answer or its exception; gevent.Timeout when there is none yet."""
        import gevent

        try:
            self._future.exception(timeout if block else 0)
        except TimeoutError:
            raise gevent.Timeout from None
        return self._future.result()


class ThreadPool:
    """Stands in for ``_pool``: tritonclient's greenlets belong to the thread that made a client."""

    def __init__(self, executor: DaemonExecutor) -> None:
        self._executor = executor
        self._running: set[Future[Any]] = set()

    def apply_async(self, act: Callable[..., Any], arguments: Any) -> Deferred:
        """Run soon, on a thread of the context. RuntimeError when no thread is to be had."""
        future = self._executor.submit(act, *arguments)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return Deferred(future)

    def join(self) -> None:
        """Wait until nothing runs; the interpreter has no threads left when it ends."""
        if not sys.is_finalizing():
            wait(set(self._running))


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection inside, on Python 3.8.

    gevent imports zope.interface. A collection during this import ends the process with a
    segmentation fault: with zope.interface 7.2, the newest for Python 3.8, always if a collection
    starts after every 10 allocations (docs/v2-mapping.md §9).
    """
    pause = gc.isenabled() and sys.version_info < (3, 9)
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            gc.enable()


def users_client(http: HttpClient) -> Any:
    """Return a tritonclient client that sends over ``http``, from any thread."""
    with _no_collection():
        from tritonclient.http import InferenceServerClient

    client = with_both_errors(InferenceServerClient)(http.pool.location.host_header)
    client._client_stub.close()  # it has never connected
    client._client_stub = UserStub(http)
    client._pool = ThreadPool(http.executor)
    return client

"""The gateway's HTTP server: finds the endpoint of each request, and answers it.

Everything here runs in one event loop. Calls that ask the v2 server run on the threads of a pool.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from contextlib import suppress
from typing import Any, cast

from aiohttp import web

from tritonclient_shim.backends.headers import call_with
from tritonclient_shim.core.addresses import join_port
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.gateway.access_log import AccessLog, AccessRecord
from tritonclient_shim.gateway.clients import http_headers, tls_context
from tritonclient_shim.gateway.http import routes
from tritonclient_shim.gateway.http.infer import BodyError, HttpInference, read_body
from tritonclient_shim.gateway.http.responses import (
    BAD_REQUEST,
    BINARY,
    NOT_ALLOWED,
    bare,
    response,
)
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.stopping import CannotListen, Stopping, until
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream

_POOLS = (routes.HEALTH, routes.CONTROL, routes.LOAD)
_THREADS = 64
_READ_SIZE = 256 * 1024
#: Bytes of one field. NV-InferRequest names every input, output and shape of a request.
_LONGEST_FIELD = 1024 * 1024
_LONGEST_LINE = 64 * 1024
#: Seconds that an idle connection is kept: v1's clients keep theirs as long as they live.
KEEP_ALIVE = 3600.0
#: Connections that may wait to be accepted.
_BACKLOG = 1024
#: Seconds that a stop waits for the first request of a client that has just connected.
_FIRST_REQUEST = 1.0
#: Seconds in which asyncio begins with the connections that it has accepted.
_TURNS = 0.05
#: Seconds that requests have at the very end of a stop, after their time of grace.
_LAST = 0.1


class HttpFront:
    """The HTTP server of a gateway. It is made and used in one event loop.

    Every request gets 200, 400 or 405, as from v1's server, or 408, which is new.
    """

    def __init__(
        self,
        options: GatewayOptions,
        upstream: Upstream,
        inference: Inferences,
        access_log: AccessLog,
        stopping: Stopping,
    ) -> None:
        self._options = options
        self._upstream = upstream
        self._stopping = stopping
        self._access_log = access_log
        self._pools = {kind: DaemonExecutor(_THREADS, f"gateway-{kind}") for kind in _POOLS}
        self._inference = HttpInference(upstream, inference, options, stopping)
        self._tls = tls_context(options)
        self._runner = _runner(self._handle)
        self._listeners: list[tuple[socket.socket, Any]] = []
        self._answering = 0
        #: Connections whose first request is still to come, with the times of their acceptance.
        self._fresh: dict[Any, float] = {}

    # ------------------------------------------------------------------------------ connections

    async def open(self) -> int:
        """Listen, and return the port. Raise CannotListen when the address is in use."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        host, port = self._options.http
        places = await loop.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, _, _, place in dict.fromkeys(places):
            listener = _listener(family, place)
            server = await loop.create_server(
                self._connection, sock=listener, ssl=self._tls, backlog=_BACKLOG
            )
            self._listeners.append((listener, server))
        return int(self._listeners[0][0].getsockname()[1])

    def _connection(self) -> Any:
        """Make aiohttp's protocol for a connection that was accepted."""
        now = time.monotonic()
        while self._fresh and now - next(iter(self._fresh.values())) > _FIRST_REQUEST:
            del self._fresh[next(iter(self._fresh))]
        assert self._runner.server is not None
        connection = self._runner.server()
        self._fresh[connection] = now
        return connection

    async def stop(self, end: float) -> None:
        """Accept the clients that have connected, listen no more, and answer until ``end``."""
        loop = asyncio.get_running_loop()
        tasks = []
        for listener, _ in self._listeners:
            loop.remove_reader(listener)  # asyncio accepts no more
        await asyncio.sleep(_TURNS)
        for listener, server in self._listeners:
            waiting = _waiting(listener)
            server.close()  # at once: who connects in between is reset
            for connection in waiting:
                connection.setblocking(False)
                accepted = loop.connect_accepted_socket(self._connection, connection, ssl=self._tls)
                tasks.append(asyncio.ensure_future(accepted))
        if tasks:
            await asyncio.wait(tasks, timeout=_FIRST_REQUEST)
        await until(lambda: not self._is_awaited(), min(end, time.monotonic() + _FIRST_REQUEST))
        await until(lambda: not self._answering, end)
        await self._runner.cleanup()

    def _is_awaited(self) -> bool:
        """True if the first request of a connection may still come."""
        now = time.monotonic()
        return any(now - since < _FIRST_REQUEST for since in self._fresh.values())

    def close(self) -> None:
        """End the threads when they have nothing left to do; do not wait for them."""
        for pool in self._pools.values():
            pool.shutdown()

    # --------------------------------------------------------------------------------- requests

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self._fresh.pop(request.protocol, None)
        self._answering += 1
        try:
            with self._stopping.request():
                answer = await self._logged(request)
        finally:
            self._answering -= 1
        if self._stopping.begun and not answer.prepared:
            answer.force_close()
        return answer

    async def _logged(self, request: web.Request) -> web.StreamResponse:
        path, _, query = routes.origin_form(request.raw_path).partition("?")
        record = AccessRecord("http", "-", f"{request.method} {path}")
        if self._access_log.wants_peers:
            record.peer = _peer(request)
        with self._access_log.request(record):
            answer = await self._answered(request, path, query, record)
            record.sent = answer.content_length or 0
        return answer

    async def _answered(
        self, request: web.Request, path: str, query: str, record: AccessRecord
    ) -> web.StreamResponse:
        try:
            return await self._answer(request, path, query, record)
        except BodyError as error:
            return error.response(self._upstream.known_id, record, next_request_id())
        except ConnectionError:  # the client has left
            return bare(BAD_REQUEST)
        except Exception as error:  # the client waits for an answer, whatever has failed
            record.status = self._upstream.failure(error)
            return response(record.status)

    async def _answer(
        self, request: web.Request, path: str, query: str, record: AccessRecord
    ) -> web.StreamResponse:
        target = routes.route_of(request.method, path)
        if target is None:
            return bare(NOT_ALLOWED if routes.wrong_method(request.method, path) else BAD_REQUEST)
        route, match = target
        record.call = route.rpc
        if route.handler is None:
            record.model = match[1]
            binary = routes.query_format(query) == BINARY
            return await self._inference.infer(request, match[1], match[2] or "", binary, record)
        body: list[Buffer] = []
        if route.body:
            body = await read_body(request, route.body, self._options.client_timeout)
        call = routes.HttpCall(match, query, request.headers.get("Accept", ""), b"".join(body))
        headers = http_headers(request.headers, self._options.forward_header)
        record.status, answer = await asyncio.get_running_loop().run_in_executor(
            self._pools[route.pool], call_with, headers, route.handler, self._upstream, call
        )
        return answer


def _runner(answer: Any) -> web.AppRunner:
    """Return aiohttp's server, which hands every request to one function."""

    @web.middleware  # type: ignore[untyped-decorator]
    async def answered(request: web.Request, handler: Any) -> web.StreamResponse:
        return cast(web.StreamResponse, await answer(request))

    application = web.Application(middlewares=[answered])  # a route does not match OPTIONS *
    application.on_response_prepare.append(_without_server)
    quiet = logging.getLogger("tritonclient_shim.gateway.aiohttp")
    quiet.disabled = True  # bytes that are no HTTP would be a traceback; the handler logs defects
    return web.AppRunner(
        application,
        access_log=None,
        logger=quiet,
        keepalive_timeout=KEEP_ALIVE,
        read_bufsize=_READ_SIZE,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_FIELD,
        shutdown_timeout=_LAST,
    )


async def _without_server(_: web.Request, answer: web.StreamResponse) -> None:
    """Drop aiohttp's ``Server`` header, which v1 did not send."""
    answer.headers.pop("Server", None)


def _listener(family: int, place: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(place)
    except OSError as error:
        listener.close()
        shown = join_port(place[0], place[1])
        raise CannotListen(error.errno, f"cannot listen on {shown}: {error.strerror}") from None
    listener.setblocking(False)
    return listener


def _waiting(listener: socket.socket) -> list[socket.socket]:
    """Accept the clients that have connected."""
    connections = []
    with suppress(BlockingIOError):
        while True:
            connection, _ = listener.accept()
            connections.append(connection)
    return connections


def _peer(request: web.BaseRequest) -> str:
    """Return the address of the client."""
    transport = request.transport
    place = None if transport is None else transport.get_extra_info("peername")
    return join_port(place[0], place[1]) if place else ""

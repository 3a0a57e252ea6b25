"""The gateway's HTTP server: finds the endpoint of each request and has it answered.

Everything here runs in one event loop. Whatever asks the v2 server runs on the threads of a pool.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

from aiohttp import web

from tritonclient_shim.backends.headers import call_with
from tritonclient_shim.core.addresses import join_port
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.gateway.access_log import AccessLog, AccessRecord
from tritonclient_shim.gateway.forwarding import of_http
from tritonclient_shim.gateway.http import routes
from tritonclient_shim.gateway.http.answers import (
    BAD_REQUEST,
    BINARY,
    NOT_ALLOWED,
    answer,
    closing,
    query_format,
    refusal,
)
from tritonclient_shim.gateway.http.body_limits import (
    REQUEST_TIMEOUT,
    Bodies,
    BodyRefused,
    ClientLeft,
    TooSlow,
)
from tritonclient_shim.gateway.http.body_reader import read_body
from tritonclient_shim.gateway.http.calls import HttpCall
from tritonclient_shim.gateway.http.connections import LONGEST_FIELD, Connections, HttpServer
from tritonclient_shim.gateway.http.infer import HttpInference
from tritonclient_shim.gateway.http.listener import listener_on, take_no_more, waiting
from tritonclient_shim.gateway.options.table import GatewayOptions
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.tls import context_of
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream

#: Pool → its number of threads. Inference has its own, see inference.py.
_THREADS = {routes.HEALTH: 64, routes.CONTROL: 64, routes.LOAD: 64}

_READ_SIZE = 256 * 1024
_LONGEST_LINE = 64 * 1024
#: Seconds between two checks of the clients' time limits.
_SWEEP = 0.25
#: Connections that may wait to be accepted.
_BACKLOG = 1024
#: Seconds for which connections that have begun may become complete, when no more are taken.
_HANDSHAKE = 0.05
#: Seconds that requests have at the very end of a stop, when their time of grace has passed.
_LAST = 0.1


class HttpService:
    """Answers every request with 200, 400 or 405, as v1's server did, or 408, which is new."""

    def __init__(
        self,
        options: GatewayOptions,
        upstream: Upstream,
        inference: Inferences,
        access_log: AccessLog,
        stopping: Stopping,
    ) -> None:
        self._upstream = upstream
        self._forwarded = options.forward_header
        self._stopping = stopping
        self._access_log = access_log
        self._pools = {
            kind: DaemonExecutor(count, f"gateway-{kind}") for kind, count in _THREADS.items()
        }
        self._bodies = Bodies(options.max_body_bytes, options.client_timeout)
        self._inference = HttpInference(upstream, inference, self._bodies, options, stopping)
        self.connections = Connections(
            options.max_connections,
            options.client_timeout,
            self._refuse_head,
            self._relieve,
            options.max_connection_age,
        )
        self._sweeping = asyncio.ensure_future(self._sweep())

    def close(self) -> None:
        """End the threads when they have nothing left to do; does not wait for them."""
        self._sweeping.cancel()
        for pool in self._pools.values():
            pool.shutdown()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            self._bodies.sweep(time.monotonic())
            self.connections.sweep(time.monotonic())

    def _relieve(self) -> bool:
        return self._bodies.relieve(time.monotonic(), 0)

    def _refuse_head(self, code: int, text: str) -> web.Response:
        """The answer to a request whose head is malformed, or has not become complete in time."""
        error = TooSlow(text) if code == REQUEST_TIMEOUT else BodyRefused(text)
        status = error.status(self._upstream.known_id, next_request_id())
        record = AccessRecord("http", "-", "-")
        record.status = status
        self._access_log.refused(record)
        return closing(status, code)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, even if the gateway itself fails."""
        with self.connections.request(request.protocol, request.content), self._stopping.request():
            response = await self._logged(request)
        closes = self._stopping.begun or request.protocol.is_old()
        if closes and not response.prepared or request.protocol.has_ended():
            response.force_close()
        return response

    async def _logged(self, request: web.BaseRequest) -> web.StreamResponse:
        path, _, query = routes.origin_form(request.raw_path).partition("?")
        record = AccessRecord("http", "-", f"{request.method} {path}")
        if self._access_log.wants_peers:
            record.peer = _peer(request)
        with self._access_log.request(record):
            response = await self._answered(request, path, query, record)
            record.sent = response.content_length or 0
        return response

    async def _answered(
        self, request: web.BaseRequest, path: str, query: str, record: AccessRecord
    ) -> web.StreamResponse:
        try:
            return await self._answer(request, path, query, record)
        except ClientLeft:
            return refusal(BAD_REQUEST)  # which nobody receives
        except Exception as error:  # whatever failed, the client waits for an answer of v1's
            record.status = self._upstream.failure(error)
            return answer(record.status)

    async def _answer(
        self, request: web.BaseRequest, path: str, query: str, record: AccessRecord
    ) -> web.StreamResponse:
        for route in routes.ROUTES:
            match = route.pattern.fullmatch(path)
            if match is None or route.method != request.method:
                continue
            record.call = route.rpc
            if route.handler is None:
                record.model = match[1]
                binary = query_format(query) == BINARY
                return await self._inference.infer(
                    request, match[1], match[2] or "", binary, record
                )
            return await self._call(route, request, match, query, record)
        return refusal(NOT_ALLOWED if routes.wrong_method(request.method, path) else BAD_REQUEST)

    async def _call(
        self,
        route: routes.Route,
        request: web.BaseRequest,
        match: Any,
        query: str,
        record: AccessRecord,
    ) -> web.Response:
        body: list[Buffer] = []
        if route.body:
            try:
                with self._bodies.receive(request.content) as arriving:
                    body = await read_body(request, self._bodies, arriving, route.body)
            except BodyRefused as error:
                record.status = error.status(self._upstream.known_id, next_request_id())
                return closing(record.status, error.code)
        call = HttpCall(match, query, request.headers.get("Accept", ""), b"".join(body))
        loop = asyncio.get_running_loop()
        assert route.handler is not None
        headers = of_http(request.headers, self._forwarded)
        record.status, response = await loop.run_in_executor(
            self._pools[route.pool], call_with, headers, route.handler, self._upstream, call
        )
        return response


def _peer(request: web.BaseRequest) -> str:
    """The address of the client."""
    transport = request.transport
    found = None if transport is None else transport.get_extra_info("peername")
    return join_port(found[0], found[1]) if found else ""


class HttpFront:
    """The HTTP server of a gateway. It is made and used in one event loop."""

    def __init__(self, options: GatewayOptions, service: HttpService) -> None:
        self._address = options.http
        self._shared = options.workers > 1
        self._tls = context_of(options)
        self.connections = service.connections
        self._server = HttpServer(
            service.handle,
            service.connections,
            access_log=None,
            auto_decompress=False,  # body_reader.py decompresses, and counts the bytes
            keepalive_timeout=options.keep_alive,
            read_bufsize=_READ_SIZE,
            max_line_size=_LONGEST_LINE,
            max_field_size=LONGEST_FIELD,
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=_LAST)
        self._sites: list[tuple[socket.socket, web.SockSite]] = []

    async def open(self) -> int:
        """Listen → the port; OSError when the address is in use."""
        await self._runner.setup()
        host, port = self._address.host, self._address.port
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, _, _, _, address in dict.fromkeys(found):
            listener = listener_on(family, address, self._shared)
            site = web.SockSite(self._runner, listener, backlog=_BACKLOG, ssl_context=self._tls)
            await site.start()
            self._sites.append((listener, site))
        return int(self._runner.addresses[0][1])

    async def close_listener(self) -> None:
        """Accept whoever has connected, and listen no more."""
        loop = asyncio.get_running_loop()
        accepted = []
        for listener, _ in self._sites:
            take_no_more(listener)
            loop.remove_reader(listener)  # asyncio has begun with all that it has accepted
        await asyncio.sleep(_HANDSHAKE)
        for listener, site in self._sites:
            accepted += waiting(listener)
            await site.stop()
        for connection in accepted:
            await loop.connect_accepted_socket(self._server, connection, ssl=self._tls)

    async def close(self) -> None:
        """Close the connections; requests that are being answered are given up."""
        await self._runner.cleanup()

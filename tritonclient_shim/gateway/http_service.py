"""The HTTP front: finds the endpoint of each request and has it answered. Imports aiohttp."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiohttp import web

from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.gateway import http_routes as routes
from tritonclient_shim.gateway.access import Access, Entry
from tritonclient_shim.gateway.bodies import (
    REQUEST_TIMEOUT,
    Bodies,
    BodyRefused,
    ClientLeft,
    TooSlow,
)
from tritonclient_shim.gateway.connections import LONGEST_FIELD, Connections, Server
from tritonclient_shim.gateway.http_answers import (
    BAD_REQUEST,
    BINARY,
    NOT_ALLOWED,
    answer,
    closing,
    query_format,
    refusal,
)
from tritonclient_shim.gateway.http_body import read_body
from tritonclient_shim.gateway.http_calls import Asked
from tritonclient_shim.gateway.http_infer import HttpInference
from tritonclient_shim.gateway.options import Options
from tritonclient_shim.gateway.pool import DaemonPool
from tritonclient_shim.gateway.upstream import Upstream

#: Threads by kind of call. Inference needs them only to translate, not to wait.
_THREADS = {routes.HEALTH: 4, routes.CONTROL: 16, routes.INFER: 8}

#: Seconds an idle connection stays: v1's contexts keep theirs for as long as they live.
_KEEP_ALIVE = 3600.0
_READ_SIZE = 256 * 1024
_LONGEST_LINE = 64 * 1024
#: Seconds from one look for clients that have used up their time to the next.
_SWEEP = 0.25


class HttpService:
    """Answers every request with 200, 400 or 405, as v1's server did; 408 is our own."""

    def __init__(self, options: Options, upstream: Upstream, access: Access) -> None:
        self._upstream = upstream
        self._access = access
        self._pools = {
            kind: DaemonPool(count, f"gateway-{kind}") for kind, count in _THREADS.items()
        }
        self._bodies = Bodies(options.max_body_bytes, options.client_timeout)
        self._inference = HttpInference(upstream, self._pools[routes.INFER], self._bodies, options)
        self.connections = Connections(
            options.max_connections, options.client_timeout, self._tell, self._relieve
        )
        self._sweeping = asyncio.ensure_future(self._sweep())

    def close(self) -> None:
        """Let the threads go; what they still do is not waited for."""
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

    def _tell(self, code: int, text: str) -> web.Response:
        """The answer to a request of which the head is not understood, or not complete."""
        error = TooSlow(text) if code == REQUEST_TIMEOUT else BodyRefused(text)
        status = error.status(self._upstream.known_id, next_request_id())
        self._access.note("http", "-", status)
        return closing(status, code)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, whatever happens on the way."""
        path, _, query = request.raw_path.partition("?")
        in_hand = self.connections.request(request.protocol, request.content)
        with in_hand, self._access.entry("http", f"{request.method} {path}") as entry:
            try:
                return await self._answer(request, path, query, entry)
            except ClientLeft:
                return refusal(BAD_REQUEST)  # to nobody
            except Exception as error:  # whatever it is, a client waits for v1's answer
                entry.status = self._upstream.failure(error)
                return answer(entry.status)

    async def _answer(
        self, request: web.BaseRequest, path: str, query: str, entry: Entry
    ) -> web.StreamResponse:
        for route in routes.ROUTES:
            match = route.pattern.fullmatch(path)
            if match is None or route.method != request.method:
                continue
            if route.call is None:
                binary = query_format(query) == BINARY
                return await self._inference.infer(request, match[1], match[2] or "", binary, entry)
            return await self._call(route, request, match, query, entry)
        return refusal(NOT_ALLOWED if routes.wrong_method(request.method, path) else BAD_REQUEST)

    async def _call(
        self, route: routes.Route, request: web.BaseRequest, match: Any, query: str, entry: Entry
    ) -> web.Response:
        body: Any = b""
        if route.body:
            try:
                with self._bodies.receive(request.content) as arriving:
                    body = await read_body(request, self._bodies, arriving, route.body)
            except BodyRefused as error:
                entry.status = error.status(self._upstream.known_id, next_request_id())
                return closing(entry.status, error.code)
        asked = Asked(match, query, request.headers.get("Accept", ""), bytes(body))
        loop = asyncio.get_running_loop()
        assert route.call is not None
        entry.status, response = await loop.run_in_executor(
            self._pools[route.pool], route.call, self._upstream, asked
        )
        return response


async def open_runner(options: Options, service: HttpService) -> tuple[web.ServerRunner, int]:
    """A listening HTTP server, and its port; OSError when the address is taken."""
    server = Server(
        service.handle,
        service.connections,
        access_log=None,
        auto_decompress=False,  # bodies are decompressed where they are counted
        keepalive_timeout=_KEEP_ALIVE,
        read_bufsize=_READ_SIZE,
        max_line_size=_LONGEST_LINE,
        max_field_size=LONGEST_FIELD,
    )
    runner = web.ServerRunner(server, shutdown_timeout=options.grace)
    await runner.setup()
    await web.TCPSite(runner, options.http.host, options.http.port).start()
    return runner, int(runner.addresses[0][1])

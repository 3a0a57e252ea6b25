"""The HTTP front: finds the endpoint of each request and has it answered. Imports aiohttp."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from tritonclient_shim.gateway import http_routes as routes
from tritonclient_shim.gateway.access import Access, Entry
from tritonclient_shim.gateway.gate import Gate
from tritonclient_shim.gateway.http_answers import (
    BAD_REQUEST,
    BINARY,
    NOT_ALLOWED,
    answer,
    query_format,
    refusal,
)
from tritonclient_shim.gateway.http_body import BodyTooLarge, read_body
from tritonclient_shim.gateway.http_calls import Asked
from tritonclient_shim.gateway.http_infer import HttpInference
from tritonclient_shim.gateway.options import Options
from tritonclient_shim.gateway.pool import DaemonPool
from tritonclient_shim.gateway.upstream import Upstream
from tritonclient_shim.ids import next_request_id

#: Threads by kind of call. Inference needs them only to translate, not to wait.
_THREADS = {routes.HEALTH: 4, routes.CONTROL: 16, routes.INFER: 8}

#: Seconds an idle connection stays: v1's contexts keep theirs for as long as they live.
_KEEP_ALIVE = 3600.0
_READ_SIZE = 1024 * 1024
_LONGEST_LINE = 64 * 1024
#: NV-InferRequest names every input, output and shape of a request.
_LONGEST_HEADER = 1024 * 1024


class HttpService:
    """Answers every request with 200, 400 or 405, as v1's server did."""

    def __init__(self, options: Options, upstream: Upstream, access: Access) -> None:
        self._upstream = upstream
        self._access = access
        self._pools = {
            kind: DaemonPool(count, f"gateway-{kind}") for kind, count in _THREADS.items()
        }
        gate = Gate(options.max_in_flight, options.max_body_bytes)
        self._inference = HttpInference(
            upstream, self._pools[routes.INFER], gate, options.max_body_bytes
        )

    def close(self) -> None:
        """Let the threads go; what they still do is not waited for."""
        for pool in self._pools.values():
            pool.shutdown()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, whatever happens on the way."""
        path, _, query = request.raw_path.partition("?")
        with self._access.entry("http", f"{request.method} {path}") as entry:
            answering = self._answer(request, path, query, entry)
            found: Any = (await asyncio.gather(answering, return_exceptions=True))[0]
            if isinstance(found, web.StreamResponse):
                return found
            entry.status = self._upstream.failure(found)
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
        try:
            body = await read_body(request, route.body) if route.body else b""
        except BodyTooLarge as error:
            entry.status = error.status(self._upstream, next_request_id())
            return answer(entry.status)
        asked = Asked(match, query, request.headers.get("Accept", ""), bytes(body))
        loop = asyncio.get_running_loop()
        assert route.call is not None
        entry.status, response = await loop.run_in_executor(
            self._pools[route.pool], route.call, self._upstream, asked
        )
        return response


async def open_runner(options: Options, service: HttpService) -> tuple[web.ServerRunner, int]:
    """A listening HTTP server, and its port; OSError when the address is taken."""
    server = web.Server(
        service.handle,
        access_log=None,
        keepalive_timeout=_KEEP_ALIVE,
        read_bufsize=_READ_SIZE,
        max_line_size=_LONGEST_LINE,
        max_field_size=_LONGEST_HEADER,
    )
    runner = web.ServerRunner(server, shutdown_timeout=options.grace)
    await runner.setup()
    await web.TCPSite(runner, options.http.host, options.http.port).start()
    return runner, int(runner.addresses[0][1])

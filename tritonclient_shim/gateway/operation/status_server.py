"""The server at ``--metrics-address``: ``/metrics``, ``/livez`` and ``/readyz``, for operators.

Liveness and readiness are the gateway's own, whatever Triton does: it runs; it takes requests.
"""

from __future__ import annotations

import asyncio
from typing import Any, Callable

from aiohttp import web

from tritonclient_shim.gateway.operation.metrics import exposition
from tritonclient_shim.gateway.options.table import ListenAddress

_UNAVAILABLE = 503


class StatusServer:
    """Made and used in one event loop. ``is_ready`` tells whether requests are taken."""

    def __init__(self, registry: Any, is_ready: Callable[[], bool]) -> None:
        self._registry = registry
        self._is_ready = is_ready
        routes = web.Application()
        routes.router.add_get("/metrics", self._metrics)
        routes.router.add_get("/livez", self._live)
        routes.router.add_get("/readyz", self._ready)
        self._runner = web.AppRunner(routes, access_log=None, shutdown_timeout=0.1)

    async def open(self, address: ListenAddress) -> ListenAddress:
        """Listen → the address with its port. OSError when it is in use."""
        await self._runner.setup()
        await web.TCPSite(self._runner, address.host, address.port).start()
        return ListenAddress(address.host, self._runner.addresses[0][1])

    async def close(self) -> None:
        """End."""
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(None, exposition, self._registry)
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return web.Response(body=text, headers={"Content-Type": kind})

    async def _live(self, _: web.Request) -> web.Response:
        return web.Response(text="live\n")

    async def _ready(self, _: web.Request) -> web.Response:
        if self._is_ready():
            return web.Response(text="ready\n")
        return web.Response(status=_UNAVAILABLE, text="not ready\n")

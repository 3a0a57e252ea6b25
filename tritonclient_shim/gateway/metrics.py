"""The server at ``--metrics-address``: metrics for Prometheus, and the gateway's own health."""

from __future__ import annotations

import asyncio
from typing import Any, Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tritonclient_shim.gateway.access_log import AccessRecord, Meter
from tritonclient_shim.gateway.listeners import listeners_at
from tritonclient_shim.gateway.options import ListenAddress

_NAME = "tritonclient_shim_gateway"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_UNAVAILABLE = 503


class PrometheusMeter(Meter):
    """Counts requests."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def metric(kind: Any, name: str, text: str, *labels: str, **more: Any) -> Any:
            return kind(f"{_NAME}_{name}", text, labels, registry=registry, **more)

        by_call = ("protocol", "call")
        self._requests = metric(
            Counter, "requests", "Requests that have been answered, by v1's code.", *by_call, "code"
        )
        self._seconds = metric(
            Histogram,
            "request_seconds",
            "From a request's head, or its arrival over gRPC, to its response.",
            *by_call,
            buckets=_SECONDS,
        )
        self._received = metric(Counter, "received_bytes", "Bytes of requests.", "protocol")
        self._sent = metric(Counter, "sent_bytes", "Bytes of responses.", "protocol")
        self._in_flight = metric(Gauge, "in_flight", "Requests in progress.", "protocol")
        self._refused = metric(
            Counter, "refused", "Requests that the gateway refused itself.", "protocol", "reason"
        )
        self._dropped = metric(
            Counter, "dropped_log_lines", "Lines of the log that nobody read in time."
        )
        self._streams = metric(Gauge, "streams", "StreamInfer calls that are open.")
        self._upstream = metric(
            Histogram,
            "upstream_seconds",
            "How long Triton has taken for an inference, apart from streams.",
            "protocol",
            buckets=_SECONDS,
        )

    def begin(self, protocol: str) -> None:
        """Count a request in progress."""
        self._in_flight.labels(protocol).inc()

    def end(self, record: AccessRecord, seconds: float) -> None:
        """Count an answered request."""
        protocol = record.protocol
        call = record.call
        self._in_flight.labels(protocol).dec()
        self._requests.labels(protocol, call, record.code).inc()
        self._seconds.labels(protocol, call).observe(seconds)
        self._received.labels(protocol).inc(record.received)
        self._sent.labels(protocol).inc(record.sent)

    def upstream(self, protocol: str, seconds: float) -> None:
        """Count the time that the v2 server took for an inference."""
        self._upstream.labels(protocol).observe(seconds)

    def refused(self, protocol: str, reason: str) -> None:
        """Count a request that the gateway itself has refused."""
        self._refused.labels(protocol, reason).inc()

    def dropped(self) -> None:
        """Count a line of the log that was not written."""
        self._dropped.inc()

    def streams(self, change: int) -> None:
        """Count a stream that opens (1) or ends (-1)."""
        self._streams.inc(change)


class StatusServer:
    """Serves ``/metrics``, ``/livez`` and ``/readyz``. It is made and used in one event loop.

    Liveness and readiness are the gateway's own, whatever Triton does.
    """

    def __init__(self, registry: Any, is_ready: Callable[[], bool]) -> None:
        self._registry = registry
        self._is_ready = is_ready
        routes = web.Application()
        routes.router.add_get("/metrics", self._metrics)
        routes.router.add_get("/livez", self._live)
        routes.router.add_get("/readyz", self._ready)
        self._runner = web.AppRunner(routes, access_log=None, shutdown_timeout=0.1)

    async def open(self, address: ListenAddress) -> ListenAddress:
        """Listen, and return the address with its port. Raise OSError when it is in use."""
        await self._runner.setup()
        sites = [web.SockSite(self._runner, listener) for listener in await listeners_at(address)]
        for site in sites:
            await site.start()
        return ListenAddress(address.host, self._runner.addresses[0][1])

    async def close(self) -> None:
        """Stop the server."""
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(None, generate_latest, self._registry)
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return web.Response(body=text, headers={"Content-Type": kind})

    async def _live(self, _: web.Request) -> web.Response:
        return web.Response(text="live\n")

    async def _ready(self, _: web.Request) -> web.Response:
        if self._is_ready():
            return web.Response(text="ready\n")
        return web.Response(status=_UNAVAILABLE, text="not ready\n")

"""One gateway from start to end: its HTTP and gRPC servers, signals, and a graceful stop."""

from __future__ import annotations

import asyncio
import resource
import signal
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any, Callable, Sequence

from tritonclient_shim.gateway.access_log import AccessLog, NoMeter
from tritonclient_shim.gateway.grpc.service import GatewayService, open_server
from tritonclient_shim.gateway.http.service import HttpFront, HttpService
from tritonclient_shim.gateway.operation.memory import keep_buffers
from tritonclient_shim.gateway.operation.startup import check_upstreams
from tritonclient_shim.gateway.options.table import Bound, GatewayOptions
from tritonclient_shim.gateway.stopping import Stopping, drain, stop_grpc, stop_http
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(options: GatewayOptions, ready: Callable[[Bound], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is called once, when both servers listen.

    Raises OSError or RuntimeError when it cannot listen on an address, SettingsError when a setting
    cannot be used.
    """
    asyncio.run(_until_signal(options, ready))


def _within_descriptors(options: GatewayOptions) -> GatewayOptions:
    """The options, with HTTP connections limited to half of the process's file descriptors.

    The other half is for gRPC's connections, and for those to Triton.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # the system may have a lower limit of its own
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    if soft == resource.RLIM_INFINITY:
        return options
    return replace(options, max_connections=min(options.max_connections, max(soft // 2, 1)))


async def _until_signal(options: GatewayOptions, ready: Callable[[Bound], None]) -> None:
    stop = asyncio.Event()
    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, _stop_at_signal, stop)
    await serve(options, ready, stop)


def _stop_at_signal(stop: asyncio.Event) -> None:
    """From now on a further signal ends the process at once."""
    stop.set()
    for number in _SIGNALS:
        asyncio.get_running_loop().remove_signal_handler(number)


async def serve(
    options: GatewayOptions,
    ready: Callable[[Bound], None],
    stop: asyncio.Event,
    worker: bool = False,
    check: bool = True,
) -> None:
    """Serve until ``stop`` is set, and then until the requests in progress have ended.

    With ``check``, the log warns of a Triton that does not answer. For a ``worker``, the supervisor
    serves the figures.
    """
    keep_buffers()
    meter: Any = NoMeter()
    if options.metrics_address is not None:
        from tritonclient_shim.gateway.operation.metrics import PrometheusMeter
        from tritonclient_shim.gateway.operation.status_server import StatusServer

        meter = PrometheusMeter()
    stopping = Stopping()
    async with AsyncExitStack() as stack:
        status, address = None, options.metrics_address
        if address is not None and not worker:
            status = StatusServer(meter.registry, lambda: not stopping.begun)
            stack.push_async_callback(status.close)
        bound, upstreams = await _open(_within_descriptors(options), stopping, meter, stack)
        if status is not None and address is not None:
            bound = replace(bound, metrics=await status.open(address))
        ready(bound)
        if check:
            check_upstreams(upstreams)
        await stop.wait()


async def _open(
    options: GatewayOptions, stopping: Stopping, meter: Any, stack: AsyncExitStack
) -> tuple[Bound, Sequence[Upstream]]:
    """Open both servers. ``stack`` closes them first, and then the connections to Triton."""
    access_log = AccessLog(options.access_log, meter)
    over_grpc = Upstream(options.triton_grpc, options, stopping)
    stack.callback(over_grpc.close)
    over_http = over_grpc
    if options.triton_http is not None:
        over_http = Upstream(options.triton_http, options, stopping)
        stack.callback(over_http.close)
    upstreams = list(dict.fromkeys((over_grpc, over_http)))
    for upstream in upstreams:
        upstream.open()
    http_inference = Inferences(over_http, options, "http", meter)
    grpc_inference = Inferences(over_grpc, options, "grpc", meter)
    http_service = HttpService(options, over_http, http_inference, access_log, stopping)
    grpc_service = GatewayService(options, over_grpc, grpc_inference, access_log, stopping)
    for one in (http_inference, grpc_inference, http_service, grpc_service):
        stack.callback(one.close)
    server, grpc_port = open_server(options, grpc_service)
    front = HttpFront(options, http_service)
    http_port = await front.open()
    stack.push_async_callback(_stop, front, server, stopping, options)
    await server.start()
    http, grpc = options.http._replace(port=http_port), options.grpc._replace(port=grpc_port)
    return Bound(http, grpc), upstreams


async def _stop(front: HttpFront, server: Any, stopping: Stopping, options: GatewayOptions) -> None:
    """Stop both servers at one time."""
    end = await drain(stopping, options.drain, options.grace)
    await asyncio.gather(stop_grpc(server, stopping, end), stop_http(front, end))

"""One gateway from start to end: its servers, signals, and a graceful stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack
from typing import Callable

from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.gateway.access_log import AccessLog, Meter
from tritonclient_shim.gateway.grpc.service import GatewayService, open_server
from tritonclient_shim.gateway.http.service import HttpFront
from tritonclient_shim.gateway.log_lines import LineWriter
from tritonclient_shim.gateway.options import Bound, GatewayOptions
from tritonclient_shim.gateway.stopping import Stopping, drain, stop_grpc
from tritonclient_shim.gateway.upstream.calls import ControlCalls
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream

log = logging.getLogger("tritonclient_shim.gateway")

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
#: Seconds after which a Triton that has not answered is reported.
_REPORT_AFTER = 5.0

#: Reports the addresses, and where Triton has answered, '' if it has not.
Announce = Callable[[Bound, str], None]


def run(options: GatewayOptions, announce: Announce, lines: LineWriter) -> None:
    """Serve until SIGTERM or SIGINT; ``announce`` is called once, when both servers listen.

    ``lines`` is the log.

    Raise CannotListen for an address in use, RuntimeError for unusable certificates, SettingsError
    for an unusable setting.
    """
    asyncio.run(_serve(options, announce, lines))


async def _serve(options: GatewayOptions, announce: Announce, lines: LineWriter) -> None:
    """Serve until a signal, and then until the requests in progress have ended."""
    stop = _stop_event()
    meter = Meter()
    stopping = Stopping()
    async with AsyncExitStack() as stack:
        status = None
        if options.metrics_address is not None:
            from tritonclient_shim.gateway.metrics import PrometheusMeter, StatusServer

            meter = PrometheusMeter()
            status = StatusServer(meter.registry, lambda: not stopping.begun)
            stack.push_async_callback(status.close)
        lines.on_drop = meter.dropped
        upstream = Upstream(options, stopping)
        stack.callback(upstream.close)
        upstream.open()
        access_log = AccessLog(options.access_log != "off", meter)
        calls = ControlCalls(upstream)
        over_http = Inferences(upstream, options, "http", meter)
        over_grpc = Inferences(upstream, options, "grpc", meter)
        for part in (over_http, over_grpc):
            stack.callback(part.close)
        front = HttpFront(options, upstream, over_http, calls, access_log, stopping)
        service = GatewayService(options, upstream, over_grpc, calls, access_log, stopping)
        server, grpc_port = open_server(options, service)
        http_port = await front.open()

        async def close() -> None:
            end = await drain(stopping, options.drain, options.grace)
            await asyncio.gather(stop_grpc(server, stopping, end), front.stop(end))

        stack.push_async_callback(close)
        await server.start()
        bound = Bound(options.http._replace(port=http_port), options.grpc._replace(port=grpc_port))
        if status is not None and options.metrics_address is not None:
            bound = bound._replace(metrics=await status.open(options.metrics_address))
        announcing = asyncio.ensure_future(_announce(options, upstream, bound, announce))
        await stop.wait()
        announcing.cancel()


def _stop_event() -> asyncio.Event:
    """Return the event that a signal sets. A further signal ends the process at once."""
    loop = asyncio.get_running_loop()
    event = asyncio.Event()

    def stop() -> None:
        event.set()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # not Python's, which raises KeyboardInterrupt

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    return event


async def _announce(
    options: GatewayOptions, upstream: Upstream, bound: Bound, announce: Announce
) -> None:
    """Report the addresses, and warn of a Triton that does not answer.

    The gateway serves meanwhile.
    """
    if options.start_line == "json":  # for programs, which do not wait for Triton
        announce(bound, "")
    pool = DaemonExecutor(1, "gateway-startup-check")
    check = asyncio.get_running_loop().run_in_executor(pool, upstream.why_unreachable)
    try:
        reason = await asyncio.wait_for(check, _REPORT_AFTER)
    except asyncio.TimeoutError:
        reason = f"nothing came within {_REPORT_AFTER:g} seconds"
    if reason:
        log.warning(
            "asked for Triton, but no v2 inference server answers at %s (gRPC): %s. The gateway "
            "serves all the same: clients get UNAVAILABLE until one answers there, and need not "
            "connect again then. If none is about to start, check --triton-grpc",
            upstream.address,
            reason,
        )
    if options.start_line != "json":
        announce(bound, "" if reason else f"{upstream.address} (gRPC)")

"""One gateway from start to end: both fronts, signals, and a stop that lets requests finish."""

from __future__ import annotations

import asyncio
import resource
import signal
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any, Callable

from tritonclient_shim.gateway.access import Access
from tritonclient_shim.gateway.grpc_service import open_server
from tritonclient_shim.gateway.http_service import HttpService, open_runner
from tritonclient_shim.gateway.options import Address, Options
from tritonclient_shim.gateway.startup import greet
from tritonclient_shim.gateway.upstream import Models, Upstream

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class Bound:
    """Where a gateway listens."""

    http: Address
    grpc: Address


def run(options: Options, ready: Callable[[Bound], None]) -> None:
    """Serve until SIGTERM or SIGINT; ``ready`` is called once, when both fronts listen.

    Raises OSError when an address cannot be had.
    """
    asyncio.run(_serve(_within_descriptors(options), ready))


def _within_descriptors(options: Options) -> Options:
    """As many HTTP connections as half the file descriptors allow that the process may have.

    The other half is for gRPC's connections and those to Triton.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # a system may have another limit still
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    if soft == resource.RLIM_INFINITY:
        return options
    return replace(options, max_connections=min(options.max_connections, max(soft // 2, 1)))


async def _serve(options: Options, ready: Callable[[Bound], None]) -> None:
    stop = asyncio.Event()
    for number in _SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        bound = await _open(options, stack)
        ready(bound)
        await stop.wait()
        _until_second_signal()


def _until_second_signal() -> None:
    """From now on a signal ends the process at once."""
    for number in _SIGNALS:
        asyncio.get_running_loop().remove_signal_handler(number)


async def _open(options: Options, stack: AsyncExitStack) -> Bound:
    """Open both fronts; ``stack`` closes what is behind them after them."""
    access = Access(options.access_log)
    models = Models()
    over_grpc = Upstream(options.triton_grpc, options.server_id, models)
    stack.callback(over_grpc.close)
    over_http = over_grpc
    if options.triton_http is not None:
        over_http = Upstream(options.triton_http, options.server_id, models)
        stack.callback(over_http.close)
    service = HttpService(options, over_http, access)
    stack.callback(service.close)
    server, grpc_port = open_server(options, over_grpc, access)
    runner, http_port = await open_runner(options, service)
    stack.push_async_callback(_stop, runner, server, options.grace)
    server.start()
    asked = [over_grpc] if over_http is over_grpc else [over_grpc, over_http]
    asyncio.get_running_loop().call_soon(greet, asked)  # runs when the start has been announced
    return Bound(Address(options.http.host, http_port), Address(options.grpc.host, grpc_port))


async def _stop(runner: Any, server: Any, grace: float) -> None:
    """Accept nothing new, and let what is in flight finish, on both fronts at one time."""
    stopped = server.stop(grace)
    await runner.cleanup()
    await asyncio.get_running_loop().run_in_executor(None, stopped.wait)

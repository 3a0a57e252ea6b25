"""Inference for both of the gateway's protocols: no thread waits while the v2 server computes."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, TypeVar, cast

from tritonclient_shim.backends.base import CallHeaders, StreamingBackend, call_with
from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import BackendError, InferenceServerException, TransportError
from tritonclient_shim.core.model import V1Reply
from tritonclient_shim.gateway.access_log import Meter
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.upstream.server import Upstream, check_model_name
from tritonclient_shim.session.exchange import Exchange

T = TypeVar("T")

#: Threads for calls that wait for the v2 server.
_THREADS = 64

_NO_SLOT = (
    "the gateway answers {0} requests at one time, as many as --max-in-flight allows, and none of "
    "them has ended within {1:g} seconds: send the request again, or start the gateway with a "
    "larger --max-in-flight"
)


class Inferences:
    """Sends inference requests to one v2 server. It is made and used in one event loop.

    A request counts towards ``max_in_flight`` from its complete arrival until the v2 server has
    answered it, the time limit has passed, or its gRPC client has left. It does not count while
    its client sends it, or receives the answer, however slowly.
    """

    def __init__(
        self, upstream: Upstream, options: GatewayOptions, protocol: str, meter: Meter
    ) -> None:
        self._upstream = upstream
        self._protocol = protocol  # of the clients
        self._meter = meter
        self._limit = options.max_in_flight
        self._free = asyncio.Semaphore(options.max_in_flight)
        self._loop = asyncio.get_running_loop()
        self._threads = DaemonExecutor(_THREADS, "gateway-infer")
        #: Future that waits for the v2 server → start of its wait. Cancelling it ends the wait.
        self._waits: dict[asyncio.Future[Any], float] = {}
        self._watching = asyncio.ensure_future(self._watch())

    def close(self) -> None:
        """Stop watching the waits."""
        self._watching.cancel()

    async def answer(
        self, exchange: Exchange, headers: CallHeaders, make: Callable[[Any, V1Reply], T]
    ) -> tuple[Any, T]:
        """Send a request. Return v1's status, and the result of ``make`` for it and the reply.

        Raise InferenceServerException if the request was refused, or there is no free slot within
        the time limit.
        """
        await self._slot()
        start = time.monotonic()
        try:
            await self._ask(exchange, headers)
        finally:
            self._free.release()
            self._meter.upstream(self._protocol, time.monotonic() - start)
        return await self.read(exchange, headers, make)

    async def _slot(self) -> None:
        if not self._free.locked():
            await self._free.acquire()
            return
        timeout = self._upstream.session.timeout
        try:
            await asyncio.wait_for(self._free.acquire(), timeout)
        except asyncio.TimeoutError:
            error = TransportError(_NO_SLOT.format(self._limit, timeout))
            raise InferenceServerException(error.message) from error

    async def _ask(self, exchange: Exchange, headers: CallHeaders) -> None:
        """Send the call of a request, and keep the outcome."""
        task: Any = asyncio.current_task()  # of this request alone, in both fronts
        self._waits[task] = time.monotonic()
        try:
            check_model_name(exchange.model.name)
            call = exchange.prepare_promptly()
            if call is None:
                call = await self.on_thread(call_with, headers, exchange.prepare)
            backend = cast(StreamingBackend, self._upstream.session.backend)
            send = call_with(headers, backend.infer_in_loop, call)
            exchange.outcome = await send()
        except BackendError as error:
            exchange.refuse(error)
        except asyncio.CancelledError:
            if task in self._waits:  # the client has left
                raise
            exchange.refuse(self._upstream.hang())
        finally:
            self._waits.pop(task, None)

    async def read(
        self, exchange: Exchange, headers: CallHeaders, make: Callable[[Any, V1Reply], T]
    ) -> tuple[Any, T]:
        """Return v1's status and the result of ``make``, on a thread if it may ask the v2 server.

        ``headers`` go with each call to the server.
        Raise InferenceServerException if the request was refused.
        """
        reply = exchange.read_promptly() if self._upstream.known_id else None
        if reply is not None:
            return self._upstream.success(exchange, reply, make)
        ask = self._upstream.response
        response: tuple[Any, T] = await self.on_thread(call_with, headers, ask, exchange, make)
        return response

    async def on_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Call the function on a thread that may wait."""
        return await self._loop.run_in_executor(self._threads, function, *arguments)

    @contextmanager
    def waiting(self, end: asyncio.Future[Any]) -> Iterator[None]:
        """Cancel ``end`` if the v2 server hangs inside the ``with`` block."""
        self._waits[end] = time.monotonic()
        try:
            yield
        finally:
            self._waits.pop(end, None)

    async def _watch(self) -> None:
        """End waits before their time limit if the server hangs. A slow model does not end them."""
        patience = self._upstream.health_timeout
        while True:
            await asyncio.sleep(patience)
            begun = time.monotonic() - patience
            old = [wait for wait, since in self._waits.items() if since <= begun]
            if old and await self.on_thread(self._upstream.hangs):
                for wait in old:
                    if self._waits.pop(wait, None) is not None:
                        wait.cancel()

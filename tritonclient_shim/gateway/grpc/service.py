"""The gateway's gRPC service, which is v1's (docs/v1-behaviour.md §9.2).

Everything here runs in one event loop. An inference that waits, for its client or for the v2
server, has no thread.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, suppress
from typing import Any, AsyncIterator, Awaitable, Callable, NoReturn

import grpc
from google.protobuf.message import DecodeError

from tritonclient_shim.gateway.access_log import AccessLog
from tritonclient_shim.gateway.clients import grpc_credentials, grpc_metadata
from tritonclient_shim.gateway.grpc.messages import read_request, refusal_of, response_of
from tritonclient_shim.gateway.grpc.stream import V1Stream
from tritonclient_shim.gateway.options import LARGEST_MESSAGE, GatewayOptions
from tritonclient_shim.gateway.stopping import CannotListen, Stopping
from tritonclient_shim.gateway.upstream.calls import ControlCalls
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

#: gRPC calls, idle streams included, for each of ``--max-in-flight``.
_CALLS_PER_INFERENCE = 16
#: Seconds that a connection may be silent before its client gets a ping.
_PING_INTERVAL = 300
#: Seconds that a connection without a call is kept: v1's clients keep theirs as long as they live.
_KEEP_ALIVE = 3600
#: Calls that have arrived and that the event loop has not accepted yet. gRPC cancels further ones
#: without a reason; by default it begins at 1000. The loop accepts or refuses thousands a second.
_MOST_PENDING = 65536
_TOO_MANY = "Concurrent RPC limit exceeded!"  # gRPC's own text
_NOT_READ = "Exception deserializing request!"  # gRPC's own text for bytes that are no request

#: A unary call: the serialised request and gRPC's context in, the serialised response out.
UnaryHandler = Callable[[bytes, Any], Awaitable[bytes]]


class GatewayService:
    """Answers every rpc with gRPC status OK; v1's errors are in ``request_status``."""

    def __init__(
        self,
        options: GatewayOptions,
        upstream: Upstream,
        inference: Inferences,
        calls: ControlCalls,
        access_log: AccessLog,
        stopping: Stopping,
    ) -> None:
        self._options = options
        self._upstream = upstream
        self._inference = inference
        self._calls = calls
        self._access_log = access_log
        self._stopping = stopping
        self._calls_open = 0

    def methods(self) -> grpc.GenericRpcHandler:
        """Return v1's service for gRPC's server."""
        v1_handler = grpc.method_handlers_generic_handler(v1.SERVICE, self.handlers())
        return _Methods(v1_handler, self._access_log)

    def handlers(self) -> dict[str, Any]:
        """Return the handlers by the names of their rpcs."""
        unary = {name: self._control(name, kind) for name, kind in self._calls.requests.items()}
        unary["Infer"] = self._infer
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(self._in_progress(handler))
            for name, handler in unary.items()
        }
        handlers["StreamInfer"] = grpc.stream_stream_rpc_method_handler(self._stream_infer)
        return handlers

    def _in_progress(self, handler: UnaryHandler) -> UnaryHandler:
        """Return a handler that a stop waits for."""

        async def call(data: bytes, context: Any) -> bytes:
            async with self._counted(context):
                with self._stopping:
                    response = await handler(data, context)
                await self._stopping.gate()
            return response

        return call

    @asynccontextmanager
    async def _counted(self, context: Any) -> AsyncIterator[None]:
        """Count a call. Abort it, which raises, if there are too many."""
        if self._calls_open >= calls_of(self._options):
            self._access_log.refused("grpc", "calls")
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, _TOO_MANY)
        self._calls_open += 1
        try:
            yield
        finally:
            self._calls_open -= 1

    def _control(self, name: str, kind: Any) -> UnaryHandler:
        async def call(data: bytes, context: Any) -> bytes:
            try:
                request = kind.FromString(data)
            except DecodeError:
                await self._abort_unread(context)
            with self._access_log.rpc(name, "", len(data), context) as record:
                headers = grpc_metadata(context, self._options.forward_header)
                record.status, serialised = await self._calls.answer(
                    name, request, headers, lambda response: bytes(response.SerializeToString())
                )
                record.sent = len(serialised)
            return serialised

        return call

    # ---------------------------------------------------------------------------- inference

    async def _infer(self, data: bytes, context: Any) -> bytes:
        request = read_request(data)
        if request is None:
            await self._abort_unread(context)
        with self._access_log.rpc("Infer", request.model_name, len(data), context) as record:
            headers = grpc_metadata(context, self._options.forward_header)
            try:
                exchange = self._upstream.service.exchange(request)
                answered = await self._inference.answer(exchange, headers, response_of)
                record.status, response = answered
            except Exception as error:  # the client waits for an answer, whatever has failed
                record.status = self._upstream.failure(error)
                response = refusal_of(record.status, request.meta_data.id)
            record.sent = len(response)
        return response

    async def _abort_unread(self, context: Any) -> NoReturn:
        """Abort a call whose bytes are no request."""
        self._access_log.refused("grpc", "message")
        await context.abort(grpc.StatusCode.INTERNAL, _NOT_READ)
        raise AssertionError  # abort has raised

    async def _stream_infer(self, _requests: Any, context: Any) -> None:
        async with self._counted(context):
            await self._stream(context)

    async def _stream(self, context: Any) -> None:
        self._access_log.meter.streams(1)
        stream = V1Stream(
            self._upstream,
            self._inference,
            context,
            self._access_log,
            grpc_metadata(context, self._options.forward_header),
        )
        try:
            async for response in stream.responses():
                await context.write(response)
            if stream.unreadable:
                await self._abort_unread(context)
        finally:
            self._access_log.meter.streams(-1)
            stream.close()


class _Methods(grpc.GenericRpcHandler):
    """The methods of v1's service; others are refused, and counted."""

    def __init__(self, methods: Any, access_log: AccessLog) -> None:
        self._methods = methods
        self._access_log = access_log

    def service(self, handler_call_details: Any) -> Any:
        """Return the handler of a call; None, which gRPC refuses, for an unknown method."""
        handler = self._methods.service(handler_call_details)
        if handler is None:
            self._access_log.refused("grpc", "method")
        return handler


def calls_of(options: GatewayOptions) -> int:
    """Return the most gRPC calls at one time."""
    return _CALLS_PER_INFERENCE * options.max_in_flight


def open_server(options: GatewayOptions, service: GatewayService) -> tuple[Any, int]:
    """Return a gRPC server that listens and has not been started, and its port.

    Raise CannotListen when the address is in use.
    """
    server = grpc.aio.server(
        handlers=[service.methods()],
        options=_limits(options),
        # with calls whose requests have not arrived; those that have are counted, see _counted
        maximum_concurrent_rpcs=2 * calls_of(options),
    )
    secure = grpc_credentials(options)
    port = 0
    with suppress(RuntimeError):  # newer versions of gRPC raise it, older ones return 0
        if secure is None:
            port = server.add_insecure_port(str(options.grpc))
        else:
            port = server.add_secure_port(str(options.grpc), secure)
    if not port:
        raise CannotListen(f"cannot listen on {options.grpc}")
    return server, port


def _limits(options: GatewayOptions) -> list[tuple[str, int]]:
    """Return gRPC's own limits by their names."""
    limits = [
        ("grpc.max_receive_message_length", min(options.max_body_bytes, LARGEST_MESSAGE)),
        ("grpc.max_send_message_length", LARGEST_MESSAGE),
        ("grpc.server.max_pending_requests", _MOST_PENDING),
        ("grpc.server.max_pending_requests_hard_limit", _MOST_PENDING),
        ("grpc.so_reuseport", 0),  # a second gateway could listen and get half the calls
        ("grpc.max_connection_idle_ms", _milliseconds(_KEEP_ALIVE)),
        ("grpc.keepalive_time_ms", _milliseconds(_PING_INTERVAL)),
        ("grpc.keepalive_timeout_ms", _milliseconds(options.client_timeout)),
        ("grpc.http2.ping_timeout_ms", _milliseconds(options.client_timeout)),  # else 60 seconds
        ("grpc.keepalive_permit_without_calls", 1),
    ]
    if options.max_connection_age is not None:
        limits.append(("grpc.max_connection_age_ms", _milliseconds(options.max_connection_age)))
    return limits


def _milliseconds(seconds: float) -> int:
    return min(int(1000 * seconds), LARGEST_MESSAGE)

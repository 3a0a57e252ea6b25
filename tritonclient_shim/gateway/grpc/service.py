"""The gateway's gRPC service, which is v1's (docs/v1-behaviour.md §9.2).

Everything here runs in one event loop: a call that waits, for its client or for the v2 server, has
no thread. Whatever asks the v2 server something runs on the threads of a pool.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Awaitable, Callable

import grpc
from google.protobuf.message import DecodeError

from tritonclient_shim.backends.headers import call_with
from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.gateway.access_log import AccessLog, AccessRecord
from tritonclient_shim.gateway.addresses import CannotListen
from tritonclient_shim.gateway.forwarding import of_grpc
from tritonclient_shim.gateway.grpc.admission import AwaitedRequests
from tritonclient_shim.gateway.grpc.messages import WireRequest, read_request
from tritonclient_shim.gateway.grpc.responses import Responses
from tritonclient_shim.gateway.grpc.stream import V1Stream, peer_of
from tritonclient_shim.gateway.options.table import LARGEST_MESSAGE, GatewayOptions
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.tls import credentials_of_server
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1
from tritonclient_shim.service.control import with_regions_for_v1_clients
from tritonclient_shim.session.inference import Inference

#: Threads of one kind of calls that ask the v2 server something.
_THREADS = 64
_LARGEST = 2**31 - 1  # of gRPC's numbers
_NOT_READ = "Exception deserializing request!"  # gRPC's own words of a request that is none

#: A unary call: the serialised request and gRPC's context in, the serialised response out.
UnaryAnswer = Callable[[bytes, Any], Awaitable[bytes]]


class GatewayService:
    """Answers every rpc with gRPC status OK; a refusal is told in ``request_status``."""

    def __init__(
        self,
        options: GatewayOptions,
        upstream: Upstream,
        inference: Inferences,
        access_log: AccessLog,
        stopping: Stopping,
    ) -> None:
        self._options = options
        self._upstream = upstream
        self._inference = inference
        self._access_log = access_log
        self._stopping = stopping
        self._responses = Responses(upstream)
        self._streams = 0
        self._awaited: list[AwaitedRequests] = []
        self._pools: list[DaemonExecutor] = []

    def close(self) -> None:
        """End the threads when they have nothing left to do; does not wait for them."""
        for awaited in self._awaited:
            awaited.close()
        for pool in self._pools:
            pool.shutdown()

    def handlers(self) -> dict[str, Any]:
        """Name of an rpc → gRPC's handler of it.

        Health and loads have threads of their own, because loads take minutes. UnaryAnswer rpcs are
        registered as taking a stream of requests, which is the same on the wire: otherwise gRPC
        itself would wait for the request, without a time limit.
        """
        up, control = self._upstream, self._upstream.control
        shared = self._pool("control")
        unary = {
            "Infer": self._infer,
            "Health": self._answering("Health", up.health, self._pool("health")),
            "ModelControl": self._answering("ModelControl", up.model_control, self._pool("load")),
            "Status": self._answering("Status", up.status, shared),
            "Repository": self._answering("Repository", control.repository, shared),
            "Profile": self._answering("Profile", control.profile, shared),
            "SharedMemoryControl": self._answering("SharedMemoryControl", self._regions, shared),
        }
        kinds = {"Infer": self._awaits(), "Health": self._awaits()}
        others = self._awaits()
        handlers = {
            name: grpc.stream_unary_rpc_method_handler(self._whole(answer, kinds.get(name, others)))
            for name, answer in unary.items()
        }
        handlers["StreamInfer"] = grpc.stream_stream_rpc_method_handler(self._stream_infer)
        return handlers

    def _whole(self, answer: UnaryAnswer, awaited: AwaitedRequests) -> Any:
        """The handler of a unary rpc, from the arrival of its request."""

        async def call(_requests: Any, context: Any) -> bytes:
            data = await awaited.request(context)
            with self._stopping.request():
                response = await answer(data, context)
            await self._stopping.gate()
            return response

        return call

    def _pool(self, name: str) -> DaemonExecutor:
        self._pools.append(DaemonExecutor(_THREADS, f"gateway-grpc-{name}"))
        return self._pools[-1]

    def _awaits(self) -> AwaitedRequests:
        self._awaited.append(AwaitedRequests(self._options.client_timeout))
        return self._awaited[-1]

    # ------------------------------------------------------------------------ control calls

    def _answering(self, name: str, ask: Callable[[Any], Any], pool: DaemonExecutor) -> UnaryAnswer:
        rpc = {**v1.RPCS, **v1.RETIRED_RPCS}[name]

        def answer(request: Any) -> Any:
            return self._upstream.answered(rpc.response, lambda: ask(request))

        async def call(data: bytes, context: Any) -> bytes:
            request = await _parsed(rpc.request, data, context)
            with self._access_log.request(self._record(name, "", data, context)) as record:
                loop = asyncio.get_running_loop()
                headers = of_grpc(context, self._options.forward_header)
                response = await loop.run_in_executor(pool, call_with, headers, answer, request)
                record.status = response.request_status
                serialised = bytes(response.SerializeToString())
                record.sent = len(serialised)
            return serialised

        return call

    def _regions(self, request: Any) -> Any:
        return with_regions_for_v1_clients(self._upstream.control.shared_memory_control(request))

    # ---------------------------------------------------------------------------- inference

    async def _infer(self, data: bytes, context: Any) -> bytes:
        request = read_request(data)
        if request is None:
            await context.abort(grpc.StatusCode.INTERNAL, _NOT_READ)
            raise AssertionError  # abort has raised
        told = self._record("Infer", request.model_name, data, context)
        with self._access_log.request(told) as record:
            inference = self._upstream.infer.inference(request)
            headers = of_grpc(context, self._options.forward_header)
            inference = inference._replace(headers=headers)
            record.status, response = await self._response(request, inference)
            record.sent = len(response)
        return response

    def _record(self, rpc: str, model: str, data: bytes, context: Any) -> AccessRecord:
        record = AccessRecord("grpc", rpc, f"{rpc} {model}" if model else rpc, model)
        record.received = len(data)
        if self._access_log.wants_peers:
            record.peer = peer_of(context)
        return record

    async def _response(self, request: WireRequest, inference: Inference) -> tuple[Any, bytes]:
        try:
            return await self._inference.answer(inference, request.size, self._responses.of)
        except InferenceServerException as error:
            return self._responses.of_failure(error, request.meta_data.id)

    async def _stream_infer(self, _requests: Any, context: Any) -> None:
        if self._streams >= self._options.max_streams:
            await context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._options.max_streams} streams are open, as many as this gateway takes: "
                "close some, or start the gateway with a larger --max-streams",
            )
        self._streams += 1
        self._access_log.meter.streams(1)
        stream = V1Stream(
            self._upstream,
            self._inference,
            self._responses,
            context,
            self._access_log,
            of_grpc(context, self._options.forward_header),
        )
        try:
            async for response in stream.responses():
                await context.write(response)
            if stream.unreadable:
                await context.abort(grpc.StatusCode.INTERNAL, _NOT_READ)
        finally:
            self._streams -= 1
            self._access_log.meter.streams(-1)
            stream.close()


async def _parsed(kind: Any, data: bytes, context: Any) -> Any:
    """The request; ends the call, by an exception, if the bytes are none."""
    try:
        return kind.FromString(data)
    except DecodeError:
        await context.abort(grpc.StatusCode.INTERNAL, _NOT_READ)


def _limits(options: GatewayOptions) -> list[tuple[str, int]]:
    """gRPC's names of the limits. Whoever does not know one ignores it."""
    limits = [
        ("grpc.max_receive_message_length", min(options.max_body_bytes, LARGEST_MESSAGE)),
        ("grpc.max_send_message_length", LARGEST_MESSAGE),
        # for one worker alone: a second gateway could listen and get half the calls
        ("grpc.so_reuseport", int(options.workers > 1)),
        ("grpc.max_allowed_incoming_connections", min(options.max_connections, _LARGEST)),
        ("grpc.max_concurrent_streams", min(options.max_calls_per_connection, _LARGEST)),
        ("grpc.max_connection_idle_ms", _milliseconds(options.keep_alive)),
        ("grpc.server_handshake_timeout_ms", _milliseconds(options.client_timeout)),
        ("grpc.keepalive_time_ms", _milliseconds(options.ping_interval)),
        ("grpc.keepalive_timeout_ms", _milliseconds(options.client_timeout)),
        ("grpc.http2.ping_timeout_ms", _milliseconds(options.client_timeout)),
        ("grpc.http2.min_ping_interval_without_data_ms", _milliseconds(options.min_ping_interval)),
        ("grpc.keepalive_permit_without_calls", 1),  # for the pings of both sides
    ]
    if options.max_connection_age is not None:
        limits.append(("grpc.max_connection_age_ms", _milliseconds(options.max_connection_age)))
    return limits


def _milliseconds(seconds: float) -> int:
    return min(int(1000 * seconds), _LARGEST)


def open_server(options: GatewayOptions, service: GatewayService) -> tuple[Any, int]:
    """A gRPC server that listens and has not been started, and its port.

    Raises CannotListen when the address is in use.
    """
    server = grpc.aio.server(
        handlers=[grpc.method_handlers_generic_handler(v1.SERVICE, service.handlers())],
        options=_limits(options),
    )
    secure = credentials_of_server(options)
    port = 0
    with suppress(RuntimeError):  # newer versions of gRPC raise it, older ones return 0
        if secure is None:
            port = server.add_insecure_port(str(options.grpc))
        else:
            port = server.add_secure_port(str(options.grpc), secure)
    if not port:
        raise CannotListen(f"cannot listen on {options.grpc}")
    return server, port

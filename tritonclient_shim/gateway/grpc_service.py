"""The gateway's gRPC service, which is v1's (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import grpc

from tritonclient_shim.core.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.gateway.access_log import AccessLog
from tritonclient_shim.gateway.grpc_admission import (
    MAX_PENDING,
    PendingCalls,
    StreamHandler,
    UnaryHandler,
    deserializer,
)
from tritonclient_shim.gateway.grpc_stream import V1Stream
from tritonclient_shim.gateway.options import LARGEST_MESSAGE, GatewayOptions
from tritonclient_shim.gateway.upstream import Upstream
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1
from tritonclient_shim.protos import retired_pb2
from tritonclient_shim.service.control import with_regions_for_v1_clients


class GatewayServicer:
    """Answers every rpc with gRPC status OK; a refusal is told in ``request_status``."""

    def __init__(self, upstream: Upstream, access_log: AccessLog, max_in_flight: int) -> None:
        self._upstream = upstream
        self._in_flight = threading.Semaphore(max_in_flight)
        self._control = upstream.control
        self._access_log = access_log

    def Status(self, request: Any, context: Any) -> Any:
        return self._answer(pb.StatusResponse, self._upstream.status, request)

    def Health(self, request: Any, context: Any) -> Any:
        return self._answer(pb.HealthResponse, self._control.health, request)

    def ModelControl(self, request: Any, context: Any) -> Any:
        return self._answer(pb.ModelControlResponse, self._upstream.control.model_control, request)

    def Repository(self, request: Any, context: Any) -> Any:
        return self._answer(pb.RepositoryResponse, self._control.repository, request)

    def Profile(self, request: Any, context: Any) -> Any:
        """This rpc was v1's until 1.6."""
        return self._answer(retired_pb2.ProfileResponse, self._control.profile, request)

    def SharedMemoryControl(self, request: Any, context: Any) -> Any:
        response = self._answer(
            pb.SharedMemoryControlResponse, self._control.shared_memory_control, request
        )
        return with_regions_for_v1_clients(response)

    def Infer(self, request: Any, context: Any) -> Any:
        with self._in_flight, self._access_log.request(
            "grpc", f"Infer {request.model_name}"
        ) as record:
            try:
                response = self._upstream.infer.infer(request)
            except InferenceServerException as error:
                response = not_inferred(self._upstream, request, error)
            record.status = response.request_status
        return response

    def StreamInfer(self, request_iterator: Any, context: Any) -> Iterator[Any]:
        stream = V1Stream(self._upstream, request_iterator)
        context.add_callback(stream.cancel)
        for response in stream:
            self._access_log.write("grpc", "StreamInfer", response.request_status)
            yield response

    def _answer(self, response_class: Any, ask: Any, request: Any) -> Any:
        name = type(request).__name__.replace("Request", "")
        with self._access_log.request("grpc", name) as record:
            response = self._upstream.answered(response_class, lambda: ask(request))
            record.status = response.request_status
        return response


def not_inferred(upstream: Upstream, request: Any, error: BaseException) -> Any:
    """The response, with the request's id, to a request that the v2 server did not answer
    (docs/v1-behaviour.md §9.2).
    """
    return pb.InferResponse(
        request_status=upstream.failure(error), meta_data={"id": request.meta_data.id}
    )


def _handlers(servicer: GatewayServicer, options: GatewayOptions) -> dict[str, Any]:
    """Name of an rpc → gRPC's handler of it.

    Health has threads of its own, because it must answer while loads take minutes.
    """
    infer_threads = DaemonExecutor(options.max_in_flight + 2 * MAX_PENDING, "gateway-grpc-infer")
    control = PendingCalls(DaemonExecutor(2 * MAX_PENDING, "gateway-grpc-control"))
    pending = {
        "Infer": PendingCalls(infer_threads),
        "Health": PendingCalls(DaemonExecutor(2 * MAX_PENDING, "gateway-grpc-health")),
    }
    handlers = {}
    for name, rpc in {**v1.RPCS, **v1.RETIRED_RPCS}.items():
        answer = getattr(servicer, name)
        messages = deserializer(rpc.request), rpc.response.SerializeToString
        if rpc.streaming:
            streams = StreamHandler(answer, options.max_streams)
            handlers[name] = grpc.stream_stream_rpc_method_handler(streams, *messages)
        else:
            unary = UnaryHandler(answer, pending.get(name, control))
            handlers[name] = grpc.stream_unary_rpc_method_handler(unary, *messages)
    return handlers


def open_server(
    options: GatewayOptions, upstream: Upstream, access_log: AccessLog
) -> tuple[Any, int]:
    """A gRPC server that listens and has not been started, and its port.

    A call for which no thread is free waits, and its request is not read meanwhile. Raises
    RuntimeError when the address is in use.
    """
    largest = min(options.max_body_bytes, LARGEST_MESSAGE)
    servicer = GatewayServicer(upstream, access_log, options.max_in_flight)
    server = grpc.server(
        DaemonExecutor(MAX_PENDING, "gateway-grpc"),  # for calls of other services
        handlers=[grpc.method_handlers_generic_handler(v1.SERVICE, _handlers(servicer, options))],
        options=(
            ("grpc.max_receive_message_length", largest),
            ("grpc.max_send_message_length", LARGEST_MESSAGE),
            (
                "grpc.so_reuseport",
                0,
            ),  # otherwise a second gateway could listen and get half the calls
            ("grpc.server_handshake_timeout_ms", int(1000 * options.client_timeout)),
        ),
    )
    return server, server.add_insecure_port(str(options.grpc))

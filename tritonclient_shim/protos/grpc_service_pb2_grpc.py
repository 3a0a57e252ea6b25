"""v1's gRPC service: the table of its rpcs, and the base class of servers that answer them.

See docs/v1-behaviour.md §8.1, §9.2. This module imports grpc: import it only where a server or a
raw stub is built.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import grpc

from tritonclient_shim.protos import grpc_service_pb2 as messages
from tritonclient_shim.protos import retired_pb2

#: Full name of the service; an rpc's path is ``/<SERVICE>/<rpc>``.
SERVICE = "nvidia.inferenceserver.GRPCService"


class Rpc(NamedTuple):
    """One rpc: its message classes, and whether both directions are streams."""

    request: Any
    response: Any
    streaming: bool = False


#: Every rpc of release 1.15, by name.
RPCS: dict[str, Rpc] = {
    "Status": Rpc(messages.StatusRequest, messages.StatusResponse),
    "Health": Rpc(messages.HealthRequest, messages.HealthResponse),
    "Infer": Rpc(messages.InferRequest, messages.InferResponse),
    "StreamInfer": Rpc(messages.InferRequest, messages.InferResponse, streaming=True),
    "ModelControl": Rpc(messages.ModelControlRequest, messages.ModelControlResponse),
    "SharedMemoryControl": Rpc(
        messages.SharedMemoryControlRequest, messages.SharedMemoryControlResponse
    ),
    "Repository": Rpc(messages.RepositoryRequest, messages.RepositoryResponse),
}

#: Rpcs that v1 dropped: Profile went with 1.7 (docs/v1-behaviour.md §8.2).
RETIRED_RPCS: dict[str, Rpc] = {
    "Profile": Rpc(retired_pb2.ProfileRequest, retired_pb2.ProfileResponse),
}


class GRPCServiceServicer:
    """Base class of a v1 server: an rpc that is not overridden answers UNIMPLEMENTED."""

    def Status(self, request: Any, context: Any) -> Any:
        """Return a ``StatusResponse``: the state of the server and of its models."""
        _refuse("Status", context)

    def Health(self, request: Any, context: Any) -> Any:
        """Return a ``HealthResponse``: liveness or readiness."""
        _refuse("Health", context)

    def Infer(self, request: Any, context: Any) -> Any:
        """Return the ``InferResponse`` of one inference."""
        _refuse("Infer", context)

    def StreamInfer(self, request_iterator: Any, context: Any) -> Any:
        """Return a stream with the ``InferResponse`` of each request, in their order."""
        _refuse("StreamInfer", context)

    def ModelControl(self, request: Any, context: Any) -> Any:
        """Load or unload a model and return a ``ModelControlResponse``."""
        _refuse("ModelControl", context)

    def SharedMemoryControl(self, request: Any, context: Any) -> Any:
        """Register, unregister or list regions and return the response."""
        _refuse("SharedMemoryControl", context)

    def Repository(self, request: Any, context: Any) -> Any:
        """Return a ``RepositoryResponse``: the names of the models on disk."""
        _refuse("Repository", context)


def add_GRPCServiceServicer_to_server(servicer: Any, server: Any) -> None:
    """Register ``servicer`` with a ``grpc.Server`` or ``grpc.aio`` server, under v1's service name.

    A servicer with a method ``Profile`` answers that retired rpc as well.
    """
    retired = {name: rpc for name, rpc in RETIRED_RPCS.items() if hasattr(servicer, name)}
    handlers = {
        name: _handler(getattr(servicer, name), rpc) for name, rpc in {**RPCS, **retired}.items()
    }
    generic = grpc.method_handlers_generic_handler(SERVICE, handlers)
    server.add_generic_rpc_handlers((generic,))


def _handler(method: Any, rpc: Rpc) -> Any:
    """Return grpc's handler of a servicer's method."""
    make = grpc.unary_unary_rpc_method_handler
    if rpc.streaming:
        make = grpc.stream_stream_rpc_method_handler
    return make(
        method,
        request_deserializer=rpc.request.FromString,
        response_serializer=rpc.response.SerializeToString,
    )


def _refuse(name: str, context: Any) -> NoReturn:
    """Answer UNIMPLEMENTED on ``context`` and raise, as generated servicers do."""
    details = f"this server does not implement {SERVICE}/{name}: override the method {name}"
    context.set_code(grpc.StatusCode.UNIMPLEMENTED)
    context.set_details(details)
    raise NotImplementedError(details)

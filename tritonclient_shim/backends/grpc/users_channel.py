"""KServe v2 on a gRPC channel that belongs to the user: its options, credentials, interceptors.

Nothing here opens, closes or replaces a connection. Every call carries what the user gave for
it, and the time limit holds for all calls of one :class:`ChannelBackend` together.
"""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from typing import Any, Callable, Collection, Iterator, Sequence, TypeVar, Union, cast

from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.backends.grpc import messages
from tritonclient_shim.backends.grpc.backend import GrpcBackend
from tritonclient_shim.backends.grpc.connection import GrpcConnection, connector_for
from tritonclient_shim.backends.grpc.errors import StatusCode, caused, fault_of, in_users_words
from tritonclient_shim.backends.grpc.framing import ShmUse, decode_reply
from tritonclient_shim.backends.grpc.server_of_channel import ServerOfChannel
from tritonclient_shim.core.errors import Fault, TransportFault
from tritonclient_shim.core.metadata import KnownServer
from tritonclient_shim.core.model import GRPC, Endpoint, ModelConfigDocument
from tritonclient_shim.core.reading import outcome_of

T = TypeVar("T")

_SERVICE = "/inference.GRPCInferenceService/"

#: The address of a channel is the user's secret; all channels share this endpoint.
CHANNEL = Endpoint(GRPC, "channel")
_NO_CONNECTOR = connector_for(CHANNEL)  # settings do not reach a user's channel

ConfigOutcome = Union[ModelConfigDocument, Fault]


@dataclass(frozen=True)
class CallOptions:
    """What a gRPC user may give for one call; ``deadline`` is a time of ``time.monotonic``."""

    deadline: float | None = None
    metadata: Sequence[tuple[str, Any]] | None = None
    credentials: Any = None
    wait_for_ready: bool | None = None
    compression: Any = None

    def arguments(self) -> dict[str, Any]:
        """Arguments for a call that starts now."""
        timeout = None if self.deadline is None else self.deadline - time.monotonic()
        return {
            "timeout": timeout,
            "metadata": self.metadata,
            "credentials": self.credentials,
            "wait_for_ready": self.wait_for_ready,
            "compression": self.compression,
        }


class ChannelConnection:
    """The v2 methods of one channel."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._methods: dict[str, Any] = {}
        self.server = ServerOfChannel(channel)
        self.infer = channel.unary_unary(_SERVICE + "ModelInfer")
        self.stream = channel.stream_stream(_SERVICE + "ModelStreamInfer")

    def method(self, name: str, request: Any, response: Any) -> Any:
        """The call object of a unary method, for protobuf messages of the given classes."""
        found = self._methods.get(name)
        if found is None:
            found = self._channel.unary_unary(
                _SERVICE + name, request.SerializeToString, response.FromString
            )
            self._methods[name] = found
        return found


class _Unary:
    """A unary method with the options of one user's call."""

    def __init__(self, method: Any, call: BoundConnection) -> None:
        self._method = method
        self._bound = call

    def __call__(self, request: Any) -> Any:
        response, self._bound.last = self._method.with_call(
            request, **self._bound.options.arguments()
        )
        return response

    def future(self, request: Any) -> Any:
        future = self._method.future(request, **self._bound.options.arguments())
        self._bound.last = future
        return future


class _Stream:
    """A running stream; an interceptor's own iterator of responses will do."""

    def __init__(self, responses: Any) -> None:
        self._responses = responses

    def __iter__(self) -> Iterator[Any]:
        return iter(self._responses)

    def cancel(self) -> None:
        getattr(self._responses, "cancel", bool)()


class BoundConnection:
    """A connection as one call of the user sees it: what :class:`GrpcBackend` works with.

    ``last`` is gRPC's object for the latest call, None before the first.
    """

    def __init__(self, connection: ChannelConnection, options: CallOptions) -> None:
        self._connection = connection
        self.options = options
        self.last: Any = None
        self.server = connection.server
        self.client = ChannelClient(self)

    @property
    def infer(self) -> _Unary:
        """ModelInfer of serialised messages."""
        return _Unary(self._connection.infer, self)

    def exchange(self, request: list[bytes]) -> Any:
        """ModelInfer: the serialised request, alone in its list → the serialised reply."""
        return self.infer(request[0])

    def stream(self, requests: Iterator[bytes]) -> _Stream:
        """ModelStreamInfer of serialised messages."""
        self.last = self._connection.stream(requests, **self.options.arguments())
        return _Stream(self.last)

    def method(self, name: str, request: Any, response: Any) -> _Unary:
        """A unary method; see :meth:`ChannelConnection.method`."""
        return _Unary(self._connection.method(name, request, response), self)

    def ask(self, rpc: str, **fields: Any) -> Any:
        """Call the unary method ``rpc`` with a request of these fields."""
        request = getattr(service_pb2, f"{rpc}Request")
        response = getattr(service_pb2, f"{rpc}Response")
        return self.method(rpc, request, response)(request(**fields))


class ChannelClient:
    """The control calls of ``tritonclient.grpc.InferenceServerClient``, on a user's channel."""

    def __init__(self, bound: BoundConnection) -> None:
        self._ask = bound.ask

    def is_server_live(self) -> bool:
        """ServerLive."""
        return bool(self._ask("ServerLive").live)

    def is_server_ready(self) -> bool:
        """ServerReady."""
        return bool(self._ask("ServerReady").ready)

    def get_server_metadata(self) -> Any:
        """ServerMetadata."""
        return self._ask("ServerMetadata")

    def get_model_metadata(self, name: str) -> Any:
        """ModelMetadata."""
        return self._ask("ModelMetadata", name=name)

    def get_model_config(self, name: str, version: str = "") -> Any:
        """ModelConfig."""
        return self._ask("ModelConfig", name=name, version=version)

    def get_inference_statistics(self, name: str = "", version: str = "") -> Any:
        """ModelStatistics."""
        return self._ask("ModelStatistics", name=name, version=version)

    def get_model_repository_index(self) -> Any:
        """RepositoryIndex."""
        return self._ask("RepositoryIndex")

    def load_model(self, name: str) -> None:
        """RepositoryModelLoad."""
        self._ask("RepositoryModelLoad", model_name=name)

    def unload_model(self, name: str) -> None:
        """RepositoryModelUnload; models that an ensemble needed stay loaded."""
        self._ask("RepositoryModelUnload", model_name=name)

    def register_system_shared_memory(
        self, name: str, key: str, byte_size: int, offset: int = 0
    ) -> None:
        """SystemSharedMemoryRegister."""
        self._ask(
            "SystemSharedMemoryRegister", name=name, key=key, offset=offset, byte_size=byte_size
        )

    def register_cuda_shared_memory(
        self, name: str, raw_handle: bytes, device_id: int, byte_size: int
    ) -> None:
        """CudaSharedMemoryRegister of a base64-encoded handle."""
        self._ask(
            "CudaSharedMemoryRegister",
            name=name,
            raw_handle=base64.b64decode(raw_handle),
            device_id=device_id,
            byte_size=byte_size,
        )

    def unregister_system_shared_memory(self, name: str) -> None:
        """SystemSharedMemoryUnregister; '' is all."""
        self._ask("SystemSharedMemoryUnregister", name=name)

    def unregister_cuda_shared_memory(self, name: str) -> None:
        """CudaSharedMemoryUnregister; '' is all."""
        self._ask("CudaSharedMemoryUnregister", name=name)

    def get_system_shared_memory_status(self) -> Any:
        """SystemSharedMemoryStatus."""
        return self._ask("SystemSharedMemoryStatus")

    def get_cuda_shared_memory_status(self) -> Any:
        """CudaSharedMemoryStatus."""
        return self._ask("CudaSharedMemoryStatus")


class ChannelBackend(GrpcBackend):
    """A v2 server for one call of a channel's user, however many calls it takes."""

    def __init__(self, connection: ChannelConnection, options: CallOptions) -> None:
        super().__init__(_NO_CONNECTOR)
        self.bound = BoundConnection(connection, options)

    def model_config_async(self, name: str, done: Callable[[ConfigOutcome], None]) -> None:
        """ModelConfig in the background; ``done`` gets the outcome once, on any thread."""
        request, response = service_pb2.ModelConfigRequest, service_pb2.ModelConfigResponse

        def begin(bound: Any) -> Any:
            return bound.method("ModelConfig", request, response).future(request(name=name))

        def finish(future: Any) -> None:
            done(outcome_of(_outcome_of, future, messages.config_document))

        self._call(begin).add_done_callback(finish)

    def known_server(self) -> KnownServer:
        """What is known of the server behind this channel."""
        return self.bound.server.present()

    def client(self) -> Any:
        """The control calls on this channel."""
        return self.bound.client

    def _call(self, begin: Callable[[Any], T], regions: Collection[str] = ()) -> T:
        return self._attempt(cast(GrpcConnection, self.bound), begin, regions)

    def _outcome(self, connection: Any, future: Any, use: ShmUse) -> Outcome:
        outcome = _outcome_of(future, lambda data: decode_reply(data, use.outputs))
        if isinstance(outcome, Fault):
            return caused(in_users_words(outcome, use.regions), outcome.__cause__)
        return outcome

    def _discard_if_broken(self, connection: Any, fault: Fault) -> None:
        """The channel is the user's: it stays, whatever happened."""
        if isinstance(fault, TransportFault):
            connection.server.lose()


def _outcome_of(future: Any, decode: Callable[[Any], T]) -> T | Fault:
    if future.code() is not StatusCode.OK:
        error = None if future.cancelled() else future.exception()
        return caused(fault_of(future.code(), future.details()), error)
    return decode(future.result())

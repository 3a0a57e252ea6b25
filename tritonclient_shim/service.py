"""v1's service on top of a v2 server, for the raw stub and the gateway.

Requests and responses are v1's protobuf messages; refusals are part of the response
(``request_status``), as in v1 (docs/v1-behaviour.md §9.2). If the v2 server does not answer,
the service raises InferenceServerException of the client family. Each front reports it differently.
"""

from __future__ import annotations

from typing import Any, Callable, NoReturn, Sequence

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import (
    BackendError,
    InferenceServerException,
    ServerError,
    cause_of,
)
from tritonclient_shim.core.model import (
    Buffer,
    InferCall,
    InferReply,
    V1Reply,
    V1Request,
    next_request_id,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.protos import api_pb2, request_status_pb2, server_status_pb2
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos.grpc_service_pb2_grpc import RETIRED_RPCS, RPCS
from tritonclient_shim.servers import triton_sentences
from tritonclient_shim.servers.base import ModelProfile
from tritonclient_shim.servers.triton_sentences import Meaning
from tritonclient_shim.session import control
from tritonclient_shim.session.exchange import Exchange
from tritonclient_shim.session.models import KnownModel, KnownModels
from tritonclient_shim.session.plan import RequestPlan, compile_request
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import v1_messages

#: Every rpc of any release, by name.
ALL_RPCS = {**RPCS, **RETIRED_RPCS}

#: v2's code of a refusal, by its canonical gRPC name → v1's code.
_CODES = {
    "ALREADY_EXISTS": request_status_pb2.ALREADY_EXISTS,
    "INTERNAL": request_status_pb2.INTERNAL,
    "INVALID_ARGUMENT": request_status_pb2.INVALID_ARG,
    "NOT_FOUND": request_status_pb2.NOT_FOUND,
    "UNAVAILABLE": request_status_pb2.UNAVAILABLE,
    "UNIMPLEMENTED": request_status_pb2.UNSUPPORTED,
    "UNKNOWN": request_status_pb2.UNKNOWN,
    "UNSUPPORTED": request_status_pb2.UNSUPPORTED,
}

_NOT_PROFILED = "nothing is profiled: servers of the KServe v2 protocol have no profiler to control"

# --------------------------------------------------------------------------------- outcomes


def success_status(server_id: str, request_id: int) -> request_status_pb2.RequestStatus:
    """Return the status of a request that has succeeded (docs/v1-behaviour.md §9.3)."""
    return request_status_pb2.RequestStatus(
        code=request_status_pb2.SUCCESS, server_id=server_id, request_id=request_id
    )


def refusal_status(error: InferenceServerException) -> request_status_pb2.RequestStatus:
    """Return the status of a server's refusal. Raise any other error again.

    Its code depends on its text, or else on v2's code, which differs by protocol
    (docs/v2-mapping.md §6). A refusal whose code has no counterpart in v1, such as a proxy's
    UNAUTHENTICATED, is raised too.
    """
    cause = cause_of(error)
    if isinstance(cause, ServerError):
        code = _CODES.get(cause.code)
    else:
        code = request_status_pb2.UNKNOWN if error.server_id() else None
    if code is None:
        raise error
    message = error.message() or ""
    name = triton_sentences.v1_code(message)
    return request_status_pb2.RequestStatus(
        code=request_status_pb2.RequestStatusCode.Value(name) if name else code,
        msg=message,
        server_id=error.server_id() or "",
        request_id=error.request_id(),
    )


def stream_refusal(error: ServerError) -> ServerError:
    """Return a refusal on a stream, which has no code, with the code that its text suggests."""
    meanings = (Meaning.MALFORMED_REQUEST, Meaning.BEYOND_REGION)
    malformed = triton_sentences.recognise(error.message, meanings) is not None
    return ServerError(error.message, "INVALID_ARGUMENT" if malformed else "INTERNAL")


# --------------------------------------------------------------------------------- inference


class MessageExchange(Exchange):
    """The exchange of a message. ``request_of`` returns its request for a model."""

    request_of: Callable[[ModelProfile], V1Request]

    def make(self, profile: ModelProfile) -> tuple[V1Request, RequestPlan]:
        """Return the request, and its plan; see :meth:`Exchange.make`.

        The plan is compiled anew: this takes 20 µs of some 450 µs of CPU per small request of the
        raw stub, 4 %. To find the plan of an earlier request takes 1 µs.
        """
        v1_request = self.request_of(profile)
        return v1_request, compile_request(profile, v1_request, self.session.endpoint.protocol)


class V1Service:
    """Answers the calls of v1's service from one v2 server; thread-safe.

    The ``request_status`` of each response has the outcome, a refusal included
    (docs/v1-behaviour.md §9.2, §9.3). ``known`` are the server's models; several services may share
    them. ``batch_in_dims`` accepts dims that start with the batch size.
    """

    def __init__(
        self, session: ServerSession, known: KnownModels | None = None, batch_in_dims: bool = False
    ) -> None:
        self.session = session
        self._batch_in_dims = batch_in_dims
        self._known: KnownModels = {} if known is None else known

    def answer(self, rpc: str, request: Any) -> Any:
        """Return the response to a request of any rpc but StreamInfer.

        Raise InferenceServerException of the client family if the v2 server did not answer.
        """
        if rpc == "Infer":
            exchange = self.exchange(request)
            exchange.run(self._send)
            return self.response(exchange)
        response = ALL_RPCS[rpc].response()
        request_id = next_request_id()
        try:
            _CONTROL[rpc](self.session, request, response, request_id)
        except InferenceServerException as error:
            outcome = refusal_status(error)
        else:
            outcome = success_status(self.session.server_id(), request_id)
        response.request_status.MergeFrom(outcome)
        return response

    def exchange(self, request: Any) -> Exchange:
        """Return the exchange of a request, which must not change until it is answered.

        The request is an ``InferRequest``, or an object with its attributes.
        """

        def request_of(profile: ModelProfile) -> V1Request:
            header = request.meta_data
            if self._batch_in_dims:
                header = v1_messages.without_batch(profile, header)
            return v1_messages.to_request(profile, request.model_version, header, request.raw_input)

        version = request.model_version
        id = request.meta_data.id
        return self._exchange(request.model_name, version, next_request_id(), id, request_of)

    def exchange_of_body(
        self,
        model_name: str,
        version: int,
        header: api_pb2.InferRequestHeader,
        body: Sequence[Buffer],
        request_id: int,
    ) -> Exchange:
        """Return the exchange of an HTTP request, whose tensors follow each other in its body.

        The body may come in several pieces.
        """

        def request_of(profile: ModelProfile) -> V1Request:
            return v1_messages.to_request_of_body(profile, version, header, body)

        return self._exchange(model_name, version, request_id, header.id, request_of)

    def _exchange(
        self,
        model: str,
        version: int,
        request_id: int,
        client_id: int,
        request_of: Callable[[ModelProfile], V1Request],
    ) -> Exchange:
        """Return an exchange. ``request_of`` returns the request for a model."""
        declared = self.session.settings.declared
        exchange = MessageExchange(
            session=self.session,
            model=self._known.get(model) or KnownModel(model, self._known, declared(model)),
            version=version,
            request_id=request_id,
            client_id=client_id,
        )
        exchange.request_of = request_of
        return exchange

    def _send(self, call: InferCall) -> InferReply:
        return self.session.backend.infer(call)

    def reply(self, exchange: Exchange) -> V1Reply:
        """Return the reply. Raise InferenceServerException if the request was refused."""
        return exchange.read_reply(self._send)

    def response(self, exchange: Exchange) -> pb.InferResponse:
        """Return the response. Raise InferenceServerException if there was no usable answer."""
        try:
            reply = self.reply(exchange)
        except InferenceServerException as error:
            refusal = refusal_status(error)
            return pb.InferResponse(request_status=refusal, meta_data={"id": exchange.client_id})
        try:
            return read(self._response, exchange.request_id, reply)
        except BackendError as backend_error:
            raise exchange.error(backend_error) from backend_error

    def _response(self, request_id: int, reply: V1Reply) -> pb.InferResponse:
        return pb.InferResponse(
            request_status=success_status(self.session.server_id(), request_id),
            meta_data=v1_messages.response_header(reply),
            raw_output=v1_messages.raw_outputs(reply),
        )


# ---------------------------------------------------------------------------------- control


def _status(session: ServerSession, request: Any, response: Any, request_id: int) -> None:
    """Add the state of the server and of one or all models (docs/v1-behaviour.md §6.2)."""
    server_status = control.server_status(session, request.model_name, request_id)
    response.server_status.CopyFrom(server_status)


def _health(session: ServerSession, request: Any, response: Any, request_id: int) -> None:
    """Add liveness or readiness (docs/v1-behaviour.md §6.1)."""
    if request.mode not in ("live", "ready"):
        _refuse(session, f"unknown health mode '{request.mode}'", request_id)
    response.health = control.health(session, request.mode, request_id)


def _model_control(session: ServerSession, request: Any, response: Any, request_id: int) -> None:
    """Load or unload a model; a load ends when it is ready (docs/v1-behaviour.md §6.4)."""
    act = control.load if request.type == pb.ModelControlRequest.LOAD else control.unload
    act(session, request.model_name, request_id)


def _repository(session: ServerSession, request: Any, response: Any, request_id: int) -> None:
    """Add the names of all models in the repositories (docs/v1-behaviour.md §6.3)."""
    if not request.HasField("index"):
        _refuse(session, "request type is not specified", request_id)
    response.index.CopyFrom(control.repository_index(session, request_id))


def _shared_memory(session: ServerSession, request: Any, response: Any, request_id: int) -> None:
    """Register, unregister or list shared-memory regions by name (docs/v1-behaviour.md §6.5).

    The list is in ``shared_memory_status.shared_memory_region``, as the .proto says.
    :func:`with_regions_for_v1_clients` adds the field that genuine clients read.
    """
    kind = request.WhichOneof("shared_memory_control")
    if kind == "register":
        with control.guard_regions(session, request_id):
            _register(session.backend, request.register)
    elif kind == "unregister":
        control.unregister_name(session, request.unregister.name, request_id)
    elif kind == "unregister_all":
        control.unregister_all(session, request_id)
    elif kind == "status":
        regions = control.regions(session, request_id).shared_memory_region
        response.shared_memory_status.SetInParent()
        response.shared_memory_status.shared_memory_region.extend(regions)
    else:
        _refuse(session, "unknown sharedmemorycontrol request type", request_id)


def _register(backend: Backend, request: Any) -> None:
    name = request.name
    byte_size = request.byte_size
    kind = request.WhichOneof("shared_memory_types")
    if kind == "system_shared_memory":
        region = request.system_shared_memory
        control.register_system(backend, name, region.shared_memory_key, byte_size, region.offset)
    elif kind == "cuda_shared_memory":
        cuda = request.cuda_shared_memory
        backend.register_cuda(name, cuda.raw_handle, cuda.device_id, byte_size)
    else:
        backend.server_metadata()  # see _refuse
        raise ServerError(
            f"failed to register shared memory region: '{name}', improperly formed request."
        )


def _profile(session: ServerSession, request: Any, response: Any, request_id: int) -> None:
    """Accept the retired Profile's ``start`` and ``stop``, and do nothing.

    KServe v2 has no such call. Programs that profile on the side continue. The status of their call
    has a message, which no success of v1 had.
    """
    if request.cmd not in ("start", "stop"):
        _refuse(session, f"unknown profile command '{request.cmd}'", request_id)
    with session.guard(request_id):
        session.backend.server_metadata()  # see _refuse
    response.request_status.msg = _NOT_PROFILED


def _refuse(session: ServerSession, message: str, request_id: int) -> NoReturn:
    """Raise v1's UNKNOWN refusal of a request of no known kind (docs/v1-behaviour.md §9.2).

    In v1 the server itself refused such a request. Programs use one, for example ``Profile``, to
    check that the server answers. So ask the server first.
    """
    with session.guard(request_id):
        session.backend.server_metadata()
        raise ServerError(message, "UNKNOWN")


#: What fills the response to a control call, given session, request, response and request id.
_CONTROL: dict[str, Callable[[ServerSession, Any, Any, int], None]] = {
    "Status": _status,
    "Health": _health,
    "ModelControl": _model_control,
    "Repository": _repository,
    "SharedMemoryControl": _shared_memory,
    "Profile": _profile,
}


def with_regions_for_v1_clients(
    response: pb.SharedMemoryControlResponse,
) -> pb.SharedMemoryControlResponse:
    """Return the response, with its regions also in the field that genuine clients read.

    v1's server sent a serialised SharedMemoryStatus in place of the declared message. Its regions
    are field 2, which ``Status`` does not declare. v1's clients read only this field
    (docs/v1-behaviour.md §9.2).
    """
    if response.HasField("shared_memory_status"):
        regions = response.shared_memory_status.shared_memory_region
        sent = server_status_pb2.SharedMemoryStatus(shared_memory_region=regions)
        response.shared_memory_status.MergeFromString(sent.SerializeToString())
    return response

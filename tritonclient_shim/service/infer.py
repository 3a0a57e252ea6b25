"""``Infer`` and ``StreamInfer`` of v1's service: ``InferRequest`` in, ``InferResponse`` out."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.core.errors import Fault, InferenceServerException, Refusal, ServerFault
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import (
    Buffer,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelProfile,
    V1Reply,
    V1Request,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.service import status
from tritonclient_shim.session.labels import LabelBook
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import config, to_v1, to_v2, v1_messages
from tritonclient_shim.translate.wording import RequestContext

_NO_STATUS = "infer request did not return status"
_DECOUPLED = "ModelInfer RPC doesn't support models with decoupled transaction policy"

#: How one lowered call is sent: the backend's ``infer``, or with a caller's own deadline.
Send = Callable[[InferCall], InferReply]

#: Input data of a request: given (gRPC), or still to be cut out of a body (HTTP).
Data = Callable[[ModelProfile], Sequence[Buffer]]


class KnownModels:
    """What has been read of the models of one server; any number of services may share it."""

    def __init__(self) -> None:
        self.profiles: dict[str, ModelProfile] = {}
        self.labels: dict[str, LabelBook] = {}


class InferService:
    """Answers v1 inference requests for any model of one v2 server; thread-safe.

    Model configurations are kept until a request is refused: then they are read again, and
    the request is repeated once if the configuration has changed. ``batch_in_dims`` accepts
    dims that start with the batch size.
    """

    def __init__(
        self, session: ServerSession, known: KnownModels | None = None, batch_in_dims: bool = False
    ) -> None:
        self.session = session
        self.batch_in_dims = batch_in_dims
        self._known = known or KnownModels()

    def infer(self, request: pb.InferRequest, send: Send | None = None) -> pb.InferResponse:
        """One ``InferRequest``; a refusal is in the response's ``request_status``.

        InferenceServerException of the client family when the v2 server did not answer.
        """
        exchange = self.exchange(request)
        return exchange.response(exchange.send(send or self._send))

    def answer(
        self,
        model_name: str,
        model_version: int,
        header: api_pb2.InferRequestHeader,
        data: Data,
        request_id: int,
        send: Send | None = None,
    ) -> V1Reply:
        """The reply to one request; InferenceServerException when it is refused."""
        exchange = Exchange(self, model_name, model_version, header, data, request_id)
        return exchange.reply(exchange.send(send or self._send))

    def exchange(self, request: pb.InferRequest) -> Exchange:
        """A request that its owner sends; it must not change until it is answered."""
        return Exchange(
            self,
            request.model_name,
            request.model_version,
            request.meta_data,
            lambda profile: request.raw_input,
            next_request_id(),
        )

    def _send(self, call: InferCall) -> InferReply:
        return self.session.backend.infer(call)

    def profile(self, model_name: str) -> ModelProfile:
        """The profile of a model. Raises Fault."""
        profile = self._known.profiles.get(model_name)
        return profile or self.learn(model_name, self.session.backend.model_config(model_name))

    def knows(self, model_name: str) -> bool:
        """Can a request for this model be lowered without asking the server?"""
        return model_name in self._known.profiles

    def learn(self, model_name: str, document: ModelConfigDocument) -> ModelProfile:
        """The profile of a model of which the server has just told the configuration.

        Raises Fault.
        """
        profile = read(config.to_profile, model_name, document)
        if self._known.profiles.get(model_name) != profile:
            self._known.labels.pop(model_name, None)
        self._known.profiles[model_name] = profile
        return profile

    def reloaded(self, known: ModelProfile) -> bool:
        """Read a model again: has it been reloaded with another configuration?"""
        try:
            found = self.learn(known.name, self.session.backend.model_config(known.name))
        except Fault:
            self._known.profiles.pop(known.name, None)
            return False
        return found != known

    def v1_reply(self, profile: ModelProfile, request: V1Request, answer: InferReply) -> V1Reply:
        """The v1 reply of a v2 reply; may ask the server once for labels."""
        book = self._known.labels.setdefault(profile.name, LabelBook())
        labels = book.reader(self.session.backend, profile, request, answer.model_version)
        return read(to_v1.v1_reply, profile, request, answer, labels)


class Exchange:
    """One request on its way: lowered by :meth:`call`, sent by its owner, read here."""

    def __init__(
        self,
        service: InferService,
        model_name: str,
        model_version: int,
        header: api_pb2.InferRequestHeader,
        data: Data,
        request_id: int,
    ) -> None:
        self.model_name = model_name
        self._service = service
        self._version = model_version
        self._header = header
        self._data = data
        self._id = request_id
        self._translated: tuple[ModelProfile, V1Request] | None = None
        self._profile: ModelProfile | None = None

    def call(self) -> InferCall:
        """The v2 call to send. Raises Fault, a refusal of v1's server as ServerFault."""
        profile = self._profile = self._service.profile(self.model_name)
        if profile.decoupled:
            raise ServerFault(_DECOUPLED, "UNIMPLEMENTED")
        header = self._header
        if self._service.batch_in_dims:
            header = v1_messages.without_batch(profile, header)
        try:
            request = v1_messages.to_request(profile, self._version, header, self._data(profile))
        except Refusal:
            self._check_version()
            raise
        self._translated = profile, request
        return to_v2.infer_call(profile, request, self._service.session.endpoint.protocol)

    def _check_version(self) -> None:
        """v1's server looked for the version first; Fault when there is none of this number."""
        backend = self._service.session.backend
        version = to_v2.version(self.model_name, self._version, backend.endpoint.protocol)
        if version:
            backend.model_config(self.model_name, version)

    def send(self, send: Send) -> Outcome:
        """Lower and send."""
        try:
            return send(self.call())
        except Fault as fault:
            return fault

    def response(self, outcome: Outcome, repeat: bool = True) -> pb.InferResponse:
        """What came of the call → the response; InferenceServerException if nothing came."""
        try:
            answer = self.reply(outcome, repeat)
        except InferenceServerException as error:
            refusal = status.refused(error)
            return pb.InferResponse(request_status=refusal, meta_data={"id": self._header.id})
        with self._service.session.guard(self._id, _NO_STATUS):
            return read(self._response, answer)

    def _response(self, answer: V1Reply) -> pb.InferResponse:
        return pb.InferResponse(
            request_status=status.success(self._service.session.server_id(), self._id),
            meta_data=v1_messages.response_header(answer),
            raw_output=v1_messages.raw_outputs(answer),
        )

    def reply(self, outcome: Outcome, repeat: bool = True) -> V1Reply:
        """What came of the call → the reply; InferenceServerException when it was refused.

        A request that was refused because the model has been reloaded is repeated, unless
        ``repeat`` forbids it.
        """
        try:
            return self._read(outcome)
        except ServerFault as fault:
            if not self._reloaded() or not repeat:
                raise self._error(fault) from fault
        except Fault as fault:
            raise self._error(fault) from fault
        try:
            return self._read(self.send(self._service._send))
        except Fault as fault:
            raise self._error(fault) from fault

    def _read(self, outcome: Outcome) -> V1Reply:
        if isinstance(outcome, Fault):
            raise outcome
        assert self._translated is not None
        return self._service.v1_reply(*self._translated, outcome)

    def _reloaded(self) -> bool:
        return self._profile is not None and self._service.reloaded(self._profile)

    @property
    def stateful(self) -> bool:
        """Must this request keep its place among others?"""
        return self._translated is not None and to_v2.stateful(*self._translated)

    def _error(self, fault: Fault) -> Any:
        # What was refused before it was lowered is in v1's words already.
        batching = self._translated is not None and self._translated[0].batching
        asked = RequestContext(self.model_name, str(self._version), batching)
        return self._service.session.fault_to_error(fault, self._id, _NO_STATUS, asked)

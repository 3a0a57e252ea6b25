"""``Infer`` of v1's service: an ``InferRequest`` in, an ``InferResponse`` out."""

from __future__ import annotations

from typing import Callable, Sequence

from tritonclient_shim.errors import Fault, InferenceServerException, ServerFault
from tritonclient_shim.ids import next_request_id
from tritonclient_shim.labels import LabelBook
from tritonclient_shim.model import (
    Buffer,
    InferCall,
    InferReply,
    ModelProfile,
    V1Reply,
    V1Request,
)
from tritonclient_shim.protos import api_pb2, grpc_service_pb2
from tritonclient_shim.service import status
from tritonclient_shim.session import ServerSession
from tritonclient_shim.translate import config, lower, reply, wire
from tritonclient_shim.translate.messages import Asked

_NO_STATUS = "infer request did not return status"

#: How one lowered call is sent: the backend's ``infer``, or with a caller's own deadline.
Send = Callable[[InferCall], InferReply]

#: Input data of a request: given (gRPC), or still to be cut out of a body (HTTP).
Data = Callable[[ModelProfile], Sequence[Buffer]]


class InferService:
    """Answers v1 inference requests for any model of one v2 server; thread-safe.

    Model configurations are kept until the server refuses a request: then they are read
    again, and the request is repeated once if the configuration has changed.
    """

    def __init__(self, session: ServerSession) -> None:
        self.session = session
        self._profiles: dict[str, ModelProfile] = {}
        self._labels: dict[str, LabelBook] = {}

    def infer(
        self, request: grpc_service_pb2.InferRequest, send: Send | None = None
    ) -> grpc_service_pb2.InferResponse:
        """One ``InferRequest``; a refusal is in the response's ``request_status``."""
        request_id = next_request_id()
        response = grpc_service_pb2.InferResponse()
        try:
            answer = self.answer(
                request.model_name,
                request.model_version,
                request.meta_data,
                lambda profile: request.raw_input,
                request_id,
                send,
            )
        except InferenceServerException as error:
            response.request_status.CopyFrom(status.refused(error))
            response.meta_data.id = request.meta_data.id
            return response
        response.request_status.CopyFrom(status.success(self.session.server_id(), request_id))
        response.meta_data.CopyFrom(wire.response_header(answer))
        response.raw_output.extend(wire.raw_outputs(answer))
        return response

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
        asked = Asked(model_name, str(model_version))
        try:
            return self._attempt(model_name, model_version, header, data, send)
        except ServerFault as fault:
            known = self._profiles.pop(model_name, None)
            asked = asked._replace(batching=known is not None and known.batching)
            if known is None or not self._changed(known):
                raise self._error(fault, request_id, asked) from fault
        except Fault as fault:
            raise self._error(fault, request_id, asked) from fault
        with self.session.guard(request_id, _NO_STATUS, asked):
            return self._attempt(model_name, model_version, header, data, send)

    def _error(self, fault: Fault, request_id: int, asked: Asked) -> InferenceServerException:
        return self.session.fault_to_error(fault, request_id, _NO_STATUS, asked)

    def _attempt(
        self,
        model_name: str,
        model_version: int,
        header: api_pb2.InferRequestHeader,
        data: Data,
        send: Send | None,
    ) -> V1Reply:
        profile = self.profile(model_name)
        request = wire.to_request(profile, model_version, header, data(profile))
        return self.raise_reply(
            profile, request, (send or self._send)(self.lower(profile, request))
        )

    def lower(self, profile: ModelProfile, request: V1Request) -> InferCall:
        """The v2 call of a request."""
        return lower.lower(profile, request, self.session.endpoint.protocol)

    def raise_reply(self, profile: ModelProfile, request: V1Request, answer: InferReply) -> V1Reply:
        """The v1 reply of a v2 reply; may ask the server once for labels."""
        book = self._labels.setdefault(profile.name, LabelBook())
        labels = book.reader(self.session.backend, profile, request, answer.model_version)
        return reply.raise_reply(profile, request, answer, labels)

    def _send(self, call: InferCall) -> InferReply:
        return self.session.backend.infer(call)

    def profile(self, model_name: str) -> ModelProfile:
        """The profile of a model. Raises Fault."""
        profile = self._profiles.get(model_name)
        if profile is None:
            profile = self._read(model_name)
            self._profiles[model_name] = profile
        return profile

    def _read(self, model_name: str) -> ModelProfile:
        return config.to_profile(model_name, self.session.backend.model_config(model_name))

    def _changed(self, known: ModelProfile) -> bool:
        """Has a model been reloaded with another configuration?"""
        try:
            return self._read(known.name) != known
        except Fault:
            return False

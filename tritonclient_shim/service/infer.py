"""``Infer`` and ``StreamInfer`` of v1's service: ``InferRequest`` in, ``InferResponse`` out."""

from __future__ import annotations

from functools import partial
from typing import Any, Sequence

from tritonclient_shim.core.errors import BackendError, InferenceServerException
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import (
    Buffer,
    InferCall,
    InferReply,
    ModelProfile,
    V1Reply,
    V1Request,
)
from tritonclient_shim.core.reading import read
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.service import status
from tritonclient_shim.session.inference import Answer, Inference
from tritonclient_shim.session.models import KnownModel, KnownModels
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import v1_messages


class InferService:
    """Answers v1 inference requests for any model of one v2 server; thread-safe.

    ``known`` are the server's models; several services may share them. ``batch_in_dims`` accepts
    dims that start with the batch size.
    """

    def __init__(
        self,
        session: ServerSession,
        known: KnownModels | None = None,
        batch_in_dims: bool = False,
    ) -> None:
        self.session = session
        self._batch_in_dims = batch_in_dims
        self._known: KnownModels = {} if known is None else known

    def infer(self, request: pb.InferRequest) -> pb.InferResponse:
        """Return the response to a request; a refusal is in its ``request_status``.

        Raise InferenceServerException of the client family if the v2 server did not answer.
        """
        return self.response(self.inference(request).run(self._send))

    def inference(self, request: Any) -> Inference:
        """Return the inference of a request, which must not change until it is answered.

        The request is an ``InferRequest``, or an object with its attributes.
        """
        version, id = request.model_version, request.meta_data.id
        model = self._model(request.model_name)
        make = partial(self._request, request)
        return Inference(self.session, model, version, next_request_id(), id, make)

    def inference_of_body(
        self,
        model_name: str,
        version: int,
        header: api_pb2.InferRequestHeader,
        body: Sequence[Buffer],
        request_id: int,
    ) -> Inference:
        """Return the inference of an HTTP request, whose tensors follow each other in its body.

        The body may come in several pieces.
        """

        def make(profile: ModelProfile) -> V1Request:
            return v1_messages.to_request_of_body(profile, version, header, body)

        model = self._model(model_name)
        return Inference(self.session, model, version, request_id, header.id, make)

    def _model(self, name: str) -> KnownModel:
        declared = self.session.settings.declared
        return self._known.get(name) or KnownModel(name, self._known, declared(name))

    def _request(self, request: Any, profile: ModelProfile) -> V1Request:
        header = request.meta_data
        if self._batch_in_dims:
            header = v1_messages.without_batch(profile, header)
        return v1_messages.to_request(profile, request.model_version, header, request.raw_input)

    def _send(self, call: InferCall) -> InferReply:
        return self.session.backend.infer(call)

    def reply(self, answer: Answer) -> V1Reply:
        """Return the reply. Raise InferenceServerException if the request was refused."""
        return answer.reply(self._send)

    def response(self, answer: Answer) -> pb.InferResponse:
        """Return the response. Raise InferenceServerException if there was no usable answer."""
        try:
            reply = self.reply(answer)
        except InferenceServerException as error:
            refusal = status.refused(error)
            id = answer.inference.client_id
            return pb.InferResponse(request_status=refusal, meta_data={"id": id})
        try:
            return read(self._response, answer.inference.request_id, reply)
        except BackendError as backend_error:
            raise answer.inference.error(backend_error) from backend_error

    def _response(self, request_id: int, reply: V1Reply) -> pb.InferResponse:
        return pb.InferResponse(
            request_status=status.success(self.session.server_id(), request_id),
            meta_data=v1_messages.response_header(reply),
            raw_output=v1_messages.raw_outputs(reply),
        )

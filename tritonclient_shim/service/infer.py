"""``Infer`` and ``StreamInfer`` of v1's service: ``InferRequest`` in, ``InferResponse`` out."""

from __future__ import annotations

from functools import partial
from typing import Any, Sequence

from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.core.errors import Fault, InferenceServerException
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
from tritonclient_shim.session.exchange import Exchange
from tritonclient_shim.session.models import KnownModel, KnownModels
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import v1_messages


class InferService:
    """Answers v1 inference requests for any model of one v2 server; thread-safe.

    ``known`` are the server's models, which any number of services may share. ``batch_in_dims``
    accepts dims that start with the batch size.
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
        """One ``InferRequest``; a refusal is in the response's ``request_status``.

        InferenceServerException of the client family when the v2 server did not answer.
        """
        exchange = self.exchange(request)
        return self.response(exchange, exchange.send(self._send))

    def exchange(self, request: Any) -> Exchange:
        """A request that its owner sends; it must not change until it is answered.

        It is an ``InferRequest``, or whatever has its attributes.
        """
        model = self._model(request.model_name)
        make, id = partial(self._request, request), request.meta_data.id
        version = request.model_version
        return Exchange(self.session, model, version, next_request_id(), id, make)

    def exchange_of_body(
        self,
        model_name: str,
        version: int,
        header: api_pb2.InferRequestHeader,
        body: Sequence[Buffer],
        request_id: int,
    ) -> Exchange:
        """The same for a request over HTTP, the tensors of which follow each other in its body.

        The body may come in several pieces.
        """

        def make(profile: ModelProfile) -> V1Request:
            return v1_messages.to_request_of_body(profile, version, header, body)

        model = self._model(model_name)
        return Exchange(self.session, model, version, request_id, header.id, make)

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

    def reply(self, exchange: Exchange, outcome: Outcome) -> V1Reply:
        """What came of the call → the reply; InferenceServerException when it was refused."""
        try:
            return exchange.reply(outcome, self._send)
        except Fault as fault:
            raise exchange.error(fault) from fault

    def response(self, exchange: Exchange, outcome: Outcome) -> pb.InferResponse:
        """What came of the call → the response; InferenceServerException if nothing came."""
        try:
            answer = self.reply(exchange, outcome)
        except InferenceServerException as error:
            refusal = status.refused(error)
            return pb.InferResponse(request_status=refusal, meta_data={"id": exchange.client_id})
        try:
            return read(self._response, exchange, answer)
        except Fault as fault:
            raise exchange.error(fault) from fault

    def _response(self, exchange: Exchange, answer: V1Reply) -> pb.InferResponse:
        return pb.InferResponse(
            request_status=status.success(self.session.server_id(), exchange.request_id),
            meta_data=v1_messages.response_header(answer),
            raw_output=v1_messages.raw_outputs(answer),
        )

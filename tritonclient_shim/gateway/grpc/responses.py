"""Outcomes of inferences → serialised ``InferResponse``, for ``Infer`` and ``StreamInfer``."""

from __future__ import annotations

from typing import Any

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.reading import read
from tritonclient_shim.gateway.grpc.messages import response_parts
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.session.inference import Answer
from tritonclient_shim.translate import v1_messages


class Responses:
    """Makes the responses of one v2 server's answers. Any thread may call.

    Each function returns v1's status, for the access log, and the serialised response.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def of(self, answer: Answer) -> tuple[Any, bytes]:
        """Return the response of an answer. May ask the v2 server unless ``is_prompt()``."""
        try:
            reply = self._upstream.infer.reply(answer)
            success = self._upstream.success(answer.identity.request_id)
            with self._upstream.reading(answer.identity.request_id):
                return success, read(self._serialised, success, reply)
        except InferenceServerException as error:
            return self.of_failure(error, answer.identity.client_id)

    def of_failure(self, error: InferenceServerException, client_id: int) -> tuple[Any, bytes]:
        """The response, with the request's id, to a request that was refused or not answered
        (docs/v1-behaviour.md §9.2).
        """
        refusal = self._upstream.refused(error)
        response = pb.InferResponse(request_status=refusal, meta_data={"id": client_id})
        return refusal, response.SerializeToString()

    def _serialised(self, success: Any, reply: Any) -> bytes:
        header = v1_messages.response_header(reply)
        self._upstream.release.trim_header(header)
        tensors = [result.data for result in reply.outputs]
        return b"".join(response_parts(success, header, tensors))

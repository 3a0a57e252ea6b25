"""v1's inference messages as gRPC carries them, without decoding or copying their tensors.

A serialised message is a sequence of records, one for each field. So the tensors of a request are
views on its bytes, and a response is a small message followed by one record for each tensor.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from google.protobuf.message import DecodeError

from tritonclient_shim.backends.grpc.framing import CUT_FROM, take, varint
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.session.inference import Answer
from tritonclient_shim.translate import v1_messages

_RAW_INPUT = 0x22  # field 4 of InferRequest, length-delimited
_RAW_OUTPUT = b"\x1a"  # field 3 of InferResponse, length-delimited


class WireRequest(NamedTuple):
    """An ``InferRequest`` whose tensors are views on the bytes that have arrived."""

    model_name: str
    model_version: int
    meta_data: Any
    raw_input: Sequence[Buffer]
    size: int  # in bytes, of the whole message


def read_request(data: bytes) -> WireRequest | None:
    """Read a serialised ``InferRequest``; None for other bytes."""
    try:
        message, tensors = _message_and_tensors(data)
    except DecodeError:
        return None
    return WireRequest(
        message.model_name, message.model_version, message.meta_data, tensors, len(data)
    )


def _message_and_tensors(data: bytes) -> tuple[Any, Sequence[Buffer]]:
    if len(data) < CUT_FROM:  # protobuf is quicker than Python at small messages
        message = pb.InferRequest.FromString(data)
        return message, message.raw_input
    rest, (tensors,) = take(memoryview(data), _RAW_INPUT)
    return pb.InferRequest.FromString(rest), tensors


def response_parts(status: Any, header: Any, tensors: Sequence[Buffer | None]) -> list[Buffer]:
    """Return the parts of a serialised ``InferResponse``.

    A tensor is None for an output in shared memory, or of classes.
    """
    message = pb.InferResponse(request_status=status, meta_data=header)
    parts: list[Buffer] = [message.SerializeToString()]
    for tensor in tensors:
        size = 0 if tensor is None else memoryview(tensor).nbytes
        parts.append(_RAW_OUTPUT + varint(size))
        if tensor is not None:
            parts.append(tensor)
    return parts


class Responses:
    """Makes the responses of one v2 server's replies. Any thread may call.

    Each function returns v1's status, for the access log, and the serialised response.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def of(self, answer: Answer) -> tuple[Any, bytes]:
        """Return the response of an answer. May ask the v2 server unless ``is_prompt()``."""
        try:
            return self._upstream.response(answer, self._serialised)
        except InferenceServerException as error:
            return self.of_failure(error, answer.inference.client_id)

    def of_failure(self, error: InferenceServerException, client_id: int) -> tuple[Any, bytes]:
        """Return the response, with the request's id, to a request that failed
        (docs/v1-behaviour.md §9.2).
        """
        refusal = self._upstream.failure(error)
        response = pb.InferResponse(request_status=refusal, meta_data={"id": client_id})
        return refusal, response.SerializeToString()

    def _serialised(self, success: Any, reply: Any) -> tuple[Any, bytes]:
        header = v1_messages.response_header(reply)
        self._upstream.release.trim_header(header)
        tensors = [result.data for result in reply.outputs]
        return success, b"".join(response_parts(success, header, tensors))

"""v1's inference messages as gRPC carries them, without decoding or copying their tensors.

A serialised message is a sequence of records, one for each field. The tensors of a request are
views on its bytes. A response is a small message, followed by one record for each tensor.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from google.protobuf.message import DecodeError

from tritonclient_shim.backends.grpc.framing import take, varint
from tritonclient_shim.core.model import Buffer, V1Reply
from tritonclient_shim.core.reading import CUT_FROM
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.translate import v1_messages

_RAW_INPUT = 0x22  # field 4 of InferRequest, length-delimited
_RAW_OUTPUT = b"\x1a"  # field 3 of InferResponse, length-delimited


class WireRequest(NamedTuple):
    """A large ``InferRequest`` whose tensors are views on the bytes that have arrived."""

    model_name: str
    model_version: int
    meta_data: Any
    raw_input: Sequence[Buffer]


def read_request(data: bytes) -> Any:
    """Return the message of a serialised ``InferRequest``, None for other bytes."""
    try:
        if len(data) < CUT_FROM:  # protobuf is quicker than Python at small messages
            return pb.InferRequest.FromString(data)
        rest, (tensors,) = take(memoryview(data), _RAW_INPUT)
        message = pb.InferRequest.FromString(rest)
    except DecodeError:
        return None
    return WireRequest(message.model_name, message.model_version, message.meta_data, tensors)


def response_of(status: Any, reply: V1Reply) -> bytes:
    """Return the serialised ``InferResponse`` of a success."""
    message = pb.InferResponse(request_status=status, meta_data=v1_messages.response_header(reply))
    parts: list[Buffer] = [message.SerializeToString()]
    for result in reply.outputs:
        tensor = b"" if result.data is None else result.data  # in shared memory, or classes
        parts += (_RAW_OUTPUT + varint(memoryview(tensor).nbytes), tensor)
    return b"".join(parts)


def refusal_of(status: Any, client_id: int) -> bytes:
    """Return the serialised ``InferResponse`` of a refusal (docs/v1-behaviour.md §9.2)."""
    response = pb.InferResponse(request_status=status, meta_data={"id": client_id})
    return bytes(response.SerializeToString())

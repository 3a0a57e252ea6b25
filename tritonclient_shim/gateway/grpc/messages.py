"""v1's inference messages as gRPC carries them, without decoding or copying their tensors.

A serialised message is a sequence of records, one for each field. So the tensors of a request are
views on its bytes, and an answer is a small message followed by one record for each tensor.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from google.protobuf.message import DecodeError

from tritonclient_shim.backends.grpc.framing import CUT_FROM, take, varint
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.protos import grpc_service_pb2 as pb

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
    """A serialised ``InferRequest``; None for bytes that are none."""
    try:
        message, tensors = _taken_apart(data)
    except DecodeError:
        return None
    return WireRequest(
        message.model_name, message.model_version, message.meta_data, tensors, len(data)
    )


def _taken_apart(data: bytes) -> tuple[Any, Sequence[Buffer]]:
    if len(data) < CUT_FROM:  # protobuf is quicker than Python at small messages
        message = pb.InferRequest.FromString(data)
        return message, message.raw_input
    rest, (tensors,) = take(memoryview(data), _RAW_INPUT)
    return pb.InferRequest.FromString(rest), tensors


def response_parts(status: Any, header: Any, tensors: Sequence[Buffer | None]) -> list[Buffer]:
    """Status, header and tensors → the parts of a serialised ``InferResponse``.

    None stands for an output in shared memory, or one of classes.
    """
    message = pb.InferResponse(request_status=status, meta_data=header)
    parts: list[Buffer] = [message.SerializeToString()]
    for tensor in tensors:
        size = 0 if tensor is None else memoryview(tensor).nbytes
        parts.append(_RAW_OUTPUT + varint(size))
        if tensor is not None:
            parts.append(tensor)
    return parts

"""Bytes of inference requests and replies, without needless copies.

A protobuf message may be sent in pieces: the concatenation of two serialised messages is the
serialised merge of both. So a request is its small header, serialised by protobuf, followed by
one length-delimited record per tensor, and a large reply can be cut at its top level into
tensors (views on the received bytes) and the small rest, which protobuf parses.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, NamedTuple, Sequence

from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.grpc.errors import StatusCode, in_users_words, server_fault
from tritonclient_shim.backends.grpc.wire_records import take
from tritonclient_shim.backends.names import percent_encoded
from tritonclient_shim.backends.reply_checks import checked
from tritonclient_shim.core.errors import Fault, ForeignFault, TransportFault
from tritonclient_shim.core.model import (
    Buffer,
    InferCall,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorOut,
)
from tritonclient_shim.core.reading import read

#: The largest message of gRPC, in bytes.
LIMIT = 2**31 - 1

_ID = b"\x1a"  # field 3 of ModelInferRequest, length-delimited
_RAW_INPUT = b"\x3a"  # field 7 of ModelInferRequest, length-delimited
_RAW_OUTPUT = 0x32  # field 6 of ModelInferResponse, length-delimited
_STREAM_REPLY = 0x12  # field 2 of ModelStreamInferResponse, length-delimited

#: Replies from this size in bytes on are cut into views on their tensors, smaller ones are parsed.
CUT_FROM = 64 * 1024


# ------------------------------------------------------------------------------- requests


def encode_request(call: InferCall) -> bytes:
    """InferCall → serialised ``ModelInferRequest``; TransportFault above 2 GiB."""
    head, own = _head(call), _per_request(call)
    parts: list[Buffer] = [head, own]
    total = len(head) + len(own)
    for tensor in call.inputs:
        if tensor.shm is None:
            prefix = _prefix(tensor.byte_size)
            total += len(prefix) + tensor.byte_size
            parts.append(prefix)
            parts += tensor.chunks
    if total > LIMIT:  # v1's check and words (docs/v1-behaviour.md §A)
        raise TransportFault(
            f"Request has byte size {total} which exceed gRPC's byte size limit {LIMIT}."
        )
    return b"".join(parts)


def _head(call: InferCall) -> bytes:
    inputs = tuple((one.name, one.datatype, one.shape, one.shm) for one in call.inputs)
    return _layout(call.model_name, call.model_version, inputs, call.outputs)


@lru_cache(maxsize=256)
def _prefix(size: int) -> bytes:
    return _RAW_INPUT + varint(size)


def varint(value: int) -> bytes:
    """Non-negative integer → protobuf's base-128 encoding."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> int:
    """Unsigned 64-bit → the int64 with the same bits (docs/v2-mapping.md §4)."""
    return value - 2**64 if value >= 2**63 else value


@lru_cache(maxsize=256)  # what does not change from one request of a context to the next
def _layout(
    model: str, version: str, inputs: tuple[Any, ...], outputs: tuple[OutputSpec, ...]
) -> bytes:
    message = service_pb2.ModelInferRequest(model_name=model, model_version=version)
    for name, datatype, shape, shm in inputs:
        tensor = message.inputs.add(name=name, datatype=datatype, shape=shape)
        _set_region(tensor.parameters, shm)
    for spec in outputs:
        wanted = message.outputs.add(name=spec.name)
        _set_region(wanted.parameters, spec.shm)
        if spec.class_count:
            wanted.parameters["classification"].int64_param = spec.class_count
    return bytes(message.SerializeToString())


def _set_region(parameters: Any, shm: ShmSlice | None) -> None:
    if shm is None:
        return
    parameters["shared_memory_region"].string_param = percent_encoded(shm.region)
    parameters["shared_memory_byte_size"].int64_param = shm.byte_size
    if shm.offset:
        parameters["shared_memory_offset"].int64_param = shm.offset


def _per_request(call: InferCall) -> bytes:
    own = b""
    if call.sequence_id or call.priority or call.timeout_us:
        own = _options(*call[5:10])
    if call.request_id:
        text = call.request_id.encode()
        own += _ID + varint(len(text)) + text
    return own


@lru_cache(maxsize=256)
def _options(sequence_id: int, start: bool, end: bool, priority: int, timeout_us: int) -> bytes:
    message = service_pb2.ModelInferRequest()
    if sequence_id:
        message.parameters["sequence_id"].int64_param = signed(sequence_id)
        message.parameters["sequence_start"].bool_param = start
        message.parameters["sequence_end"].bool_param = end
    if priority:
        message.parameters["priority"].uint64_param = priority
    if timeout_us:
        message.parameters["timeout"].int64_param = signed(timeout_us)
    return bytes(message.SerializeToString())


# -------------------------------------------------------------------------------- replies


class ShmUse(NamedTuple):
    """What a reply does not tell of its call: outputs in shared memory, and all regions."""

    outputs: frozenset[str] = frozenset()
    regions: frozenset[str] = frozenset()


NO_SHM = ShmUse()


def shm_use(call: InferCall) -> ShmUse:
    """InferCall → its use of shared memory."""
    slices = [spec.shm for spec in call.outputs if spec.shm is not None]
    slices += [tensor.shm for tensor in call.inputs if tensor.shm is not None]
    if not slices:
        return NO_SHM
    outputs = frozenset(spec.name for spec in call.outputs if spec.shm is not None)
    return ShmUse(outputs, frozenset(shm.region for shm in slices))


def decode_reply(data: bytes, in_shm: frozenset[str] = frozenset()) -> InferReply:
    """Serialised ``ModelInferResponse`` → InferReply; ForeignFault when it is none.

    UnreadableFault when it makes no sense. ``in_shm`` are the outputs in shared memory.
    """
    return read(_decoded, data, in_shm)


def _decoded(data: bytes, in_shm: frozenset[str]) -> InferReply:
    try:
        message, tensors = _split_reply(data)
    except DecodeError as error:
        raise ForeignFault("the answer is no inference response of KServe v2") from error
    return _reply(message, tensors, in_shm)


def decode_stream_reply(
    data: bytes, use_of: Callable[[str], ShmUse]
) -> tuple[str, InferReply | Fault]:
    """Serialised ``ModelStreamInferResponse`` → (request id, outcome).

    ``use_of`` tells a request's use of shared memory by its id. The wire has no status for a
    refusal, so it comes as ``UNKNOWN`` (docs/v2-mapping.md §4).
    """
    return read(_decoded_from_stream, data, use_of)


def _decoded_from_stream(
    data: bytes, use_of: Callable[[str], ShmUse]
) -> tuple[str, InferReply | Fault]:
    try:
        error, message, tensors = _split_stream_reply(data)
    except DecodeError as cut:
        raise ForeignFault("the answer is no stream response of KServe v2") from cut
    use = use_of(message.id)
    if error:
        return message.id, in_users_words(server_fault(StatusCode.UNKNOWN, error), use.regions)
    return message.id, _reply(message, tensors, use.outputs)


def _split_stream_reply(data: bytes) -> tuple[str, Any, Sequence[Buffer]]:
    if len(data) >= CUT_FROM:
        rest, responses = take(data, _STREAM_REPLY)
        if len(responses) == 1:
            outer = service_pb2.ModelStreamInferResponse.FromString(rest)
            return (outer.error_message, *_split_reply(responses[0]))
    whole = service_pb2.ModelStreamInferResponse.FromString(bytes(data))
    inner = whole.infer_response
    return whole.error_message, inner, inner.raw_output_contents


def _split_reply(data: Buffer) -> tuple[Any, Sequence[Buffer]]:
    if len(data) < CUT_FROM:
        message = service_pb2.ModelInferResponse.FromString(bytes(data))
        return message, message.raw_output_contents
    rest, tensors = take(data, _RAW_OUTPUT)
    return service_pb2.ModelInferResponse.FromString(rest), tensors


def _reply(message: Any, tensors: Sequence[Buffer], in_shm: frozenset[str]) -> InferReply:
    if len(tensors) < len(message.outputs):
        raise ForeignFault(
            f"the answer has {len(message.outputs)} outputs, but data for {len(tensors)}"
        )
    outputs = tuple(
        TensorOut(one.name, one.datatype, tuple(one.shape), None if one.name in in_shm else data)
        for one, data in zip(message.outputs, tensors)
    )
    names = message.model_name, message.model_version
    return InferReply(*names, tuple(map(checked, outputs)), message.id)

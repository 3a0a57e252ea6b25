"""Bytes of inference requests and replies, without needless copies.

A protobuf message may be sent in pieces: the concatenation of two serialised messages is the
serialised merge of both. So a request is its small header, serialised by protobuf, followed by
one length-delimited record per tensor, and a large reply can be cut at its top level into
tensors (views on the received bytes) and the small rest, which protobuf parses.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.grpc_errors import StatusCode, in_users_words, server_fault
from tritonclient_shim.backends.wire_names import wire_region_name
from tritonclient_shim.errors import Fault, ForeignFault, TransportFault
from tritonclient_shim.model import (
    Buffer,
    InferCall,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorOut,
)

#: The largest message of gRPC, in bytes.
LIMIT = 2**31 - 1
#: Replies from here on are cut by hand; below, protobuf's own parser is as fast.
LARGE = 64 * 1024

_RAW_INPUT = b"\x3a"  # field 7 of ModelInferRequest, length-delimited
_RAW_OUTPUT = 0x32  # field 6 of ModelInferResponse, length-delimited
_STREAM_REPLY = 0x12  # field 2 of ModelStreamInferResponse, length-delimited
_VARINT, _FIXED64, _LENGTH_DELIMITED, _FIXED32 = 0, 1, 2, 5


# ------------------------------------------------------------------------------- requests


def encode_request(call: InferCall) -> bytes:
    """InferCall → serialised ``ModelInferRequest``; TransportFault above 2 GiB."""
    inputs = tuple((one.name, one.datatype, one.shape, one.shm) for one in call.inputs)
    parts: list[Buffer] = [_layout(call.model_name, call.model_version, inputs, call.outputs)]
    parts.append(_per_request(call))
    total = len(parts[0]) + len(parts[1])
    for tensor in call.inputs:
        if tensor.shm is None:
            size = tensor.byte_size
            prefix = _RAW_INPUT + varint(size)
            total += len(prefix) + size
            parts.append(prefix)
            parts.extend(tensor.chunks)
    if total > LIMIT:  # v1's check and words (v1 Appendix A)
        raise TransportFault(
            f"Request has byte size {total} which exceed gRPC's byte size limit {LIMIT}."
        )
    return b"".join(parts)


def varint(value: int) -> bytes:
    """Non-negative integer → protobuf's base-128 encoding."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> int:
    """Unsigned 64-bit → the int64 with the same bits (v2-mapping §4)."""
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
    parameters["shared_memory_region"].string_param = wire_region_name(shm.region)
    parameters["shared_memory_byte_size"].int64_param = shm.byte_size
    if shm.offset:
        parameters["shared_memory_offset"].int64_param = shm.offset


def _per_request(call: InferCall) -> bytes:
    message = service_pb2.ModelInferRequest(id=call.request_id)
    if call.sequence_id:
        message.parameters["sequence_id"].int64_param = signed(call.sequence_id)
        message.parameters["sequence_start"].bool_param = call.sequence_start
        message.parameters["sequence_end"].bool_param = call.sequence_end
    if call.priority:
        message.parameters["priority"].uint64_param = call.priority
    if call.timeout_us:
        message.parameters["timeout"].int64_param = signed(call.timeout_us)
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


def decode_reply(data: Buffer, in_shm: frozenset[str] = frozenset()) -> InferReply:
    """Serialised ``ModelInferResponse`` → InferReply; ForeignFault when it is none."""
    try:
        message, tensors = _split_reply(data)
    except DecodeError as error:
        raise ForeignFault("the answer is no inference response of KServe v2") from error
    return _reply(message, tensors, in_shm)


def decode_stream_reply(
    data: Buffer, use_of: Callable[[str], ShmUse]
) -> tuple[str, InferReply | Fault]:
    """Serialised ``ModelStreamInferResponse`` → (request id, outcome).

    ``use_of`` tells a request's use of shared memory by its id. The wire has no status for
    a refusal, so it comes as ``UNKNOWN`` (v2-mapping §4).
    """
    try:
        error, message, tensors = _split_stream_reply(data)
    except DecodeError as cut:
        raise ForeignFault("the answer is no stream response of KServe v2") from cut
    use = use_of(message.id)
    if error:
        return message.id, in_users_words(server_fault(StatusCode.UNKNOWN, error), use.regions)
    return message.id, _reply(message, tensors, use.outputs)


def _split_stream_reply(data: Buffer) -> tuple[str, Any, Sequence[Buffer]]:
    if len(data) >= LARGE:
        rest, responses = take(data, _STREAM_REPLY)
        if len(responses) == 1:
            outer = service_pb2.ModelStreamInferResponse.FromString(rest)
            return (outer.error_message, *_split_reply(responses[0]))
    whole = service_pb2.ModelStreamInferResponse.FromString(bytes(data))
    inner = whole.infer_response
    return whole.error_message, inner, inner.raw_output_contents


def _split_reply(data: Buffer) -> tuple[Any, Sequence[Buffer]]:
    if len(data) < LARGE:
        message = service_pb2.ModelInferResponse.FromString(bytes(data))
        return message, message.raw_output_contents
    rest, tensors = take(data, _RAW_OUTPUT)
    return service_pb2.ModelInferResponse.FromString(rest), tensors


def _reply(message: Any, tensors: Sequence[Buffer], in_shm: frozenset[str]) -> InferReply:
    # Triton keeps an empty place for an output in shared memory.
    if len(tensors) < len(message.outputs):
        raise ForeignFault(
            f"the answer has {len(message.outputs)} outputs, but data for {len(tensors)}"
        )
    outputs = tuple(
        TensorOut(one.name, one.datatype, tuple(one.shape), None if one.name in in_shm else data)
        for one, data in zip(message.outputs, tensors)
    )
    return InferReply(message.model_name, message.model_version, outputs, message.id)


# --------------------------------------------------------------------------- the scanner


def take(data: Buffer, tag: int) -> tuple[bytes, list[memoryview]]:
    """Serialised message → (the message without its ``tag`` records, their values as views).

    ``tag`` is that of a length-delimited field. Raises DecodeError for anything that
    protobuf would not parse at this level.
    """
    view = memoryview(data)
    values: list[memoryview] = []
    rest: list[memoryview] = []
    for found, start, value, end in _records(view):
        if found == tag:
            values.append(view[value:end])
        else:
            rest.append(view[start:end])
    return b"".join(rest), values


def _records(view: memoryview) -> Iterator[tuple[int, int, int, int]]:
    """(tag, start of the record, start of its value, end) of each top-level record."""
    position, size = 0, len(view)
    while position < size:
        start = position
        tag, position = _read_varint(view, position)
        value, end = _extent(view, tag & 7, position)
        if end > size or tag < 8:
            raise DecodeError("a record of the message is cut short or has no field number")
        yield tag, start, value, end
        position = end


def _extent(view: memoryview, wire_type: int, position: int) -> tuple[int, int]:
    if wire_type == _LENGTH_DELIMITED:
        length, position = _read_varint(view, position)
        return position, position + length
    if wire_type == _VARINT:
        return position, _read_varint(view, position)[1]
    if wire_type in (_FIXED64, _FIXED32):
        return position, position + (8 if wire_type == _FIXED64 else 4)
    raise DecodeError(f"wire type {wire_type} does not occur in KServe v2 messages")


def _read_varint(view: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70 and position < len(view):
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise DecodeError("a number in the message does not end")

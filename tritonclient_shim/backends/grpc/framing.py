"""Bytes of inference requests and replies, without needless copies.

A protobuf message may be sent in pieces: the concatenation of two serialised messages is the
serialised merge of both. So a request is its small header, serialised by protobuf, followed by
one length-delimited record per tensor. A reply is cut at its top level into the request's id, the
tensors (of a large reply views on it), and the rest. protobuf parses the rest, once if it comes
again with the next reply.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, NamedTuple

from google.protobuf.message import DecodeError
from tritonclient.grpc import service_pb2

from tritonclient_shim.backends.grpc.errors import StatusCode, refusal
from tritonclient_shim.backends.names import percent_encoded
from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    TransportError,
    UnreadableReply,
)
from tritonclient_shim.core.model import (
    Buffer,
    InferCall,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorOut,
)
from tritonclient_shim.core.reading import (
    CUT_FROM,
    check_sizes,
    expected_size,
    packed,
    remembered,
)

_VARINT = 0
_FIXED64 = 1
_LENGTH_DELIMITED = 2
_FIXED32 = 5

#: Tags of one byte of length-delimited fields, as almost all of KServe v2's are.
_COMMON = frozenset(range(8 | _LENGTH_DELIMITED, 0x80, 8))


def take(data: Buffer, *tags: int) -> tuple[bytes, tuple[list[Buffer], ...]]:
    """Serialised message → (the message without the records of some tags, their values by tag).

    The tags are those of length-delimited fields. The values of a small message are copies, which
    do not keep all of it. Those of a large message are views. Raises DecodeError for anything that
    protobuf would not parse at this level.
    """
    if len(data) >= CUT_FROM:
        data = memoryview(data)
    taken: dict[int, list[Buffer]] = {tag: [] for tag in tags}
    rest: list[Buffer] = []
    position = 0
    kept_from = 0
    size = len(data)
    while position < size:
        tag = data[position]
        if tag in _COMMON and position + 1 < size and data[position + 1] < 0x80:
            value = position + 2
            end = value + data[position + 1]
        else:
            tag, value, end = _extent(data, position)
        if end > size:
            raise DecodeError("a record of the message is cut short")
        if tag in taken:
            if kept_from < position:
                rest.append(data[kept_from:position])
            taken[tag].append(data[value:end])
            kept_from = end
        position = end
    if kept_from < size:
        rest.append(data[kept_from:])
    return b"".join(rest), tuple(taken.values())


def _extent(data: Buffer, position: int) -> tuple[int, int, int]:
    """Return the tag of the record at ``position``, where its value begins, and where it ends."""
    tag, position = read_varint(data, position)
    wire_type = tag & 7
    if tag < 8:
        raise DecodeError("a record of the message has no field number")
    if wire_type == _LENGTH_DELIMITED:
        length, position = read_varint(data, position)
        return tag, position, position + length
    if wire_type == _VARINT:
        return tag, position, read_varint(data, position)[1]
    if wire_type in (_FIXED64, _FIXED32):
        return tag, position, position + (8 if wire_type == _FIXED64 else 4)
    raise DecodeError(f"wire type {wire_type} does not occur in KServe v2 messages")


def read_varint(view: Buffer, position: int) -> tuple[int, int]:
    """Bytes and a place in them → (the base-128 number there, where it ends)."""
    value = shift = 0
    while shift < 70 and position < len(view):
        byte = view[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise DecodeError("a number in the message does not end")


def typed_data(tensor: Any) -> bytes | None:
    """Return the values of an output tensor as its raw bytes; None where the message has none.

    Some servers set the field beside raw bytes, and leave it empty.
    """
    if not tensor.HasField("contents"):
        return None
    row = dtypes.BY_V2.get(tensor.datatype)
    if row is None or row.numpy is None:
        return None
    values = getattr(tensor.contents, row.contents, ())
    if row is dtypes.STRING:
        return byte_strings.serialize(values)
    return packed(tensor.name, tensor.datatype, list(values))


#: The largest message of gRPC, in bytes.
LIMIT = 2**31 - 1

_ID = b"\x1a"  # field 3 of ModelInferRequest, length-delimited
_RAW_INPUT = b"\x3a"  # field 7 of ModelInferRequest, length-delimited
_REPLY_ID = 0x1A  # field 3 of ModelInferResponse, length-delimited
_RAW_OUTPUT = 0x32  # field 6 of ModelInferResponse, length-delimited
_STREAM_REPLY = 0x12  # field 2 of ModelStreamInferResponse, length-delimited


# ------------------------------------------------------------------------------- requests


def encode_request(call: InferCall) -> bytes:
    """InferCall → serialised ``ModelInferRequest``; TransportError above 2 GiB."""
    head = _layout(call.model_name, call.model_version, call.outputs)
    if call.sequence_id or call.priority or call.timeout_us:
        head += _options(
            call.sequence_id,
            call.sequence_start,
            call.sequence_end,
            call.priority,
            call.timeout_us,
        )
    if call.request_id:
        text = call.request_id.encode()
        head += _ID + varint(len(text)) + text
    data: list[Buffer] = []
    total = 0
    for tensor in call.inputs:
        head += _input(tensor.name, tensor.datatype, tensor.shape, tensor.shm)
        if tensor.shm is None:
            prefix = _RAW_INPUT + varint(tensor.byte_size)
            total += len(prefix) + tensor.byte_size
            data.append(prefix)
            data += tensor.chunks
    total += len(head)
    if total > LIMIT:  # v1's check and words (docs/v1-behaviour.md §A)
        raise TransportError(
            f"Request has byte size {total} which exceed gRPC's byte size limit {LIMIT}."
        )
    return b"".join([head, *data])


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


# These parts of a message do not change from one request of a context to the next. To make them
# takes 11 µs more per small run, of some 200 µs of CPU.
@lru_cache(maxsize=256)
def _layout(model: str, version: str, outputs: tuple[OutputSpec, ...]) -> bytes:
    message = service_pb2.ModelInferRequest(model_name=model, model_version=version)
    for spec in outputs:
        wanted = message.outputs.add(name=spec.name)
        _set_region(wanted.parameters, spec.shm)
        if spec.form.class_count:
            wanted.parameters["classification"].int64_param = spec.form.class_count
    return bytes(message.SerializeToString())


@lru_cache(maxsize=256)
def _input(name: str, datatype: str, shape: tuple[int, ...], shm: ShmSlice | None) -> bytes:
    message = service_pb2.ModelInferRequest()
    tensor = message.inputs.add(name=name, datatype=datatype, shape=shape)
    _set_region(tensor.parameters, shm)
    return bytes(message.SerializeToString())


def _set_region(parameters: Any, shm: ShmSlice | None) -> None:
    if shm is None:
        return
    parameters["shared_memory_region"].string_param = percent_encoded(shm.region)
    parameters["shared_memory_byte_size"].int64_param = shm.byte_size
    if shm.offset:
        parameters["shared_memory_offset"].int64_param = shm.offset


def _options(sequence_id: int, start: bool, end: bool, priority: int, timeout_us: int) -> bytes:
    message = service_pb2.ModelInferRequest()
    if sequence_id:
        message.parameters["sequence_id"].int64_param = signed(sequence_id)
        message.parameters["sequence_start"].bool_param = start
        message.parameters["sequence_end"].bool_param = end
    if priority:
        # Triton 2.33 knows no other kind here, and v1's numbers, of 32 bits, need no other
        kind = "int64_param" if priority < 2**63 else "uint64_param"
        setattr(message.parameters["priority"], kind, priority)
    if timeout_us:
        message.parameters["timeout"].int64_param = signed(timeout_us)
    return bytes(message.SerializeToString())


# -------------------------------------------------------------------------------- replies


class ShmUse(NamedTuple):
    """The use of shared memory by a call, which its reply lacks: outputs, and all regions."""

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


def no_message() -> UnreadableReply:
    """Return the error of a call that ended with status OK and without a message."""
    return UnreadableReply("it has no message", "one, as every answer has")


def decode_reply(data: Buffer | None, in_shm: frozenset[str] = frozenset()) -> InferReply:
    """Serialised ``ModelInferResponse`` → InferReply; None is a call that ended without one.

    ForeignError for another message, UnreadableReply for a reply that makes no sense. ``in_shm``
    are the outputs in shared memory. Call it through ``core/reading.py``.
    """
    if data is None:
        raise no_message()
    try:
        head, (ids, tensors) = take(data, _REPLY_ID, _RAW_OUTPUT)
        return _reply(head, str(ids[-1], "utf-8") if ids else "", tensors, in_shm)
    except (DecodeError, UnicodeDecodeError) as error:
        raise ForeignError("the answer is no inference response of KServe v2") from error


def decode_stream_reply(
    data: bytes, use_of: Callable[[str], ShmUse]
) -> tuple[str, InferReply | BackendError]:
    """Serialised ``ModelStreamInferResponse`` → (request id, outcome).

    ``use_of`` returns a request's use of shared memory by its id. The wire has no status for a
    refusal, so it comes as ``UNKNOWN`` (docs/v2-mapping.md §4).
    """
    try:
        rest, (replies,) = take(data, _STREAM_REPLY)
        error = service_pb2.ModelStreamInferResponse.FromString(rest).error_message if rest else ""
        reply = replies[-1] if replies else b""
        head, (ids, tensors) = take(reply, _REPLY_ID, _RAW_OUTPUT)
        request_id = str(ids[-1], "utf-8") if ids else ""
        use = use_of(request_id)
        if not error:
            return request_id, _reply(head, request_id, tensors, use.outputs)
    except (DecodeError, UnicodeDecodeError) as cut:
        raise ForeignError("the answer is no stream response of KServe v2") from cut
    return request_id, refusal(StatusCode.UNKNOWN, error, use.regions)


class _ReplyHead(NamedTuple):
    """A reply without its id and data; each output with the bytes that its data must have."""

    model_name: str
    model_version: str
    tensors: tuple[tuple[TensorOut, int | None], ...]


@remembered
def _head_of(content: bytes) -> _ReplyHead:
    message = service_pb2.ModelInferResponse.FromString(content)
    outputs = [
        TensorOut(output.name, output.datatype, tuple(output.shape), typed_data(output))
        for output in message.outputs
    ]
    tensors = tuple((output, expected_size(output)) for output in outputs)
    return _ReplyHead(message.model_name, message.model_version, tensors)


def _reply(
    content: bytes, request_id: str, tensors: list[Buffer], in_shm: frozenset[str]
) -> InferReply:
    head = _head_of(content)
    if not tensors:  # a server may send lists of numbers, MLServer to a request without any
        tensors = [one.data for one, _ in head.tensors if one.data is not None]
    if len(tensors) < len(head.tensors):
        raise ForeignError(
            f"the answer has {len(head.tensors)} outputs, but data for {len(tensors)}"
        )
    outputs = []
    for (tensor, size), data in zip(head.tensors, tensors):
        if tensor.name not in in_shm:
            tensor = TensorOut(tensor.name, tensor.datatype, tensor.shape, data)
            if size is not None and len(data) != size:
                check_sizes(tensor, len(data))
        outputs.append(tensor)
    return InferReply(head.model_name, head.model_version, tuple(outputs), request_id)

"""Request and reply bytes of the gRPC backend, compared with protobuf's encoder and parser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from tests.backends.contract_calls import bytes_of
from tritonclient_shim.backends.grpc import framing
from tritonclient_shim.backends.grpc.framing import take
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import ForeignError, TransportError, UnreadableReply
from tritonclient_shim.core.model import (
    InferCall,
    InferReply,
    OutputSpec,
    ShmSlice,
    TensorIn,
    best_classes,
)
from tritonclient_shim.core.reading import CUT_FROM, read

UINT64 = st.integers(0, 2**64 - 1)
INT63 = st.integers(0, 2**63 - 1)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
REGIONS = st.one_of(
    st.none(), st.builds(ShmSlice, st.sampled_from(["r", "a.b-c_d~"]), INT63, INT63)
)
CHUNKS = st.lists(
    st.one_of(
        st.binary(max_size=300),
        st.binary(max_size=9).map(lambda data: memoryview(data)),
        st.lists(st.integers(-5, 5), max_size=50).map(lambda v: np.array(v, dtype=np.int32)),
        st.just(np.arange(6, dtype=np.float64).reshape(2, 3)),
        st.builds(lambda: np.arange(6, dtype=np.float16).reshape(2, 3).data),
    ),
    max_size=3,
).map(tuple)
SHAPES = st.lists(INT63, max_size=4).map(tuple)
INPUTS = st.builds(TensorIn, NAMES, NAMES, SHAPES, CHUNKS, st.just(0), REGIONS).map(
    lambda tensor: tensor._replace(
        byte_size=sum(memoryview(chunk).nbytes for chunk in tensor.chunks)
    )
)
OUTPUTS = st.builds(OutputSpec, NAMES, st.builds(best_classes, st.integers(0, 2**31 - 1)), REGIONS)
CALLS = st.builds(
    InferCall,
    NAMES,
    NAMES,
    st.lists(INPUTS, max_size=4).map(tuple),
    st.lists(OUTPUTS, max_size=4).map(tuple),
    request_id=NAMES,
    sequence_id=UINT64,
    sequence_start=st.booleans(),
    sequence_end=st.booleans(),
    priority=UINT64,
    timeout_us=UINT64,
)


def no_shm(request_id: str) -> framing.ShmUse:
    """Fail if a request uses shared memory."""
    return framing.NO_SHM


def in_one_piece(call: InferCall) -> Any:
    """Return the message of ``call``, built by protobuf alone."""
    message = service_pb2.ModelInferRequest(
        model_name=call.model_name, model_version=call.model_version, id=call.request_id
    )
    for tensor in call.inputs:
        record = message.inputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
        _region(record.parameters, tensor.shm)
        if tensor.shm is None:
            message.raw_input_contents.append(b"".join(map(bytes, map(_flat, tensor.chunks))))
    for spec in call.outputs:
        wanted = message.outputs.add(name=spec.name)
        _region(wanted.parameters, spec.shm)
        if spec.form.class_count:
            wanted.parameters["classification"].int64_param = spec.form.class_count
    _parameters(message.parameters, call)
    return message


def _flat(chunk: Any) -> memoryview:
    view = memoryview(chunk)
    return view.cast("B") if view.nbytes else memoryview(b"")


def _region(parameters: Any, shm: ShmSlice | None) -> None:
    if shm is not None:
        parameters["shared_memory_region"].string_param = shm.region
        parameters["shared_memory_byte_size"].int64_param = shm.byte_size
        if shm.offset:
            parameters["shared_memory_offset"].int64_param = shm.offset


def _parameters(parameters: Any, call: InferCall) -> None:
    wrap = np.uint64(0).dtype.type
    if call.sequence_id:
        parameters["sequence_id"].int64_param = int(wrap(call.sequence_id).astype(np.int64))
        parameters["sequence_start"].bool_param = call.sequence_start
        parameters["sequence_end"].bool_param = call.sequence_end
    if call.priority:
        # the first one, which every Triton knows
        kind = "int64_param" if call.priority < 2**63 else "uint64_param"
        setattr(parameters["priority"], kind, call.priority)
    if call.timeout_us:
        parameters["timeout"].int64_param = int(wrap(call.timeout_us).astype(np.int64))


@given(CALLS)
def test_requests_in_pieces_are_the_message(call: InferCall) -> None:
    """A framed request parses to the message protobuf builds from the same call."""
    framed = service_pb2.ModelInferRequest.FromString(framing.encode_request(call))
    assert framed == in_one_piece(call)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16383, 16384, 2**21 - 1, 2**21])
def test_length_prefixes(size: int) -> None:
    """Tensor sizes at the edges of the length encoding survive."""
    call = InferCall("m", "", (TensorIn("i", "UINT8", (size,), (bytes(size),), size),), ())
    framed = service_pb2.ModelInferRequest.FromString(framing.encode_request(call))
    assert [len(raw) for raw in framed.raw_input_contents] == [size]


def test_absent_parameters_are_not_sent() -> None:
    """Zero means unset: sequence, priority and timeout are not sent."""
    call = InferCall("m", "", (), (), sequence_start=True, sequence_end=True)
    sent = service_pb2.ModelInferRequest.FromString(framing.encode_request(call))
    assert not sent.parameters


def test_two_gib_are_refused_before_sending() -> None:
    """A request above gRPC's limit is refused in v1's words, without touching the data."""
    # docs/v1-behaviour.md §A
    half = np.broadcast_to(np.uint8(0), (2**30,)).data  # one byte in memory
    call = InferCall("m", "", (TensorIn("i", "UINT8", (2**31,), (half, half), 2**31),), ())
    with pytest.raises(TransportError) as caught:
        framing.encode_request(call)
    header = in_one_piece(InferCall("m", "", (TensorIn("i", "UINT8", (2**31,)),), ())).ByteSize()
    total = header - 2 + 1 + 5 + 2**31  # its empty tensor record gives way to a full record
    assert str(caught.value) == (
        f"Request has byte size {total} which exceed gRPC's byte size limit 2147483647."
    )


# -------------------------------------------------------------------------------- replies

#: With an unknown data type, any number of bytes fits any shape.
UNKNOWN = NAMES.filter(lambda name: name not in dtypes.BY_V2)
TENSORS = st.lists(
    st.tuples(NAMES, UNKNOWN, SHAPES, st.binary(max_size=200)), max_size=4, unique_by=lambda t: t[0]
)


def _response(tensors: Any, name: str = "m", version: str = "1", request_id: str = "7") -> Any:
    message = service_pb2.ModelInferResponse(model_name=name, model_version=version, id=request_id)
    for tensor, datatype, shape, data in tensors:
        message.outputs.add(name=tensor, datatype=datatype, shape=shape)
        message.raw_output_contents.append(data)
    return message


def _described(reply: InferReply) -> Any:
    tensors = [(o.name, o.datatype, o.shape, bytes_of(o)) for o in reply.outputs]
    return reply.model_name, reply.model_version, reply.request_id, tensors


@given(TENSORS, NAMES, NAMES, NAMES, st.booleans())
def test_replies_small_and_large_read_the_same(
    tensors: Any, name: str, version: str, request_id: str, large: bool
) -> None:
    """A reply's tensors are those that protobuf finds, for any size."""
    padding = [("padding", "UINT8", (CUT_FROM,), bytes(CUT_FROM))] if large else []
    tensors = [*(t for t in tensors if t[0] != "padding"), *padding]
    data = _response(tensors, name, version, request_id).SerializeToString()
    assert _described(framing.decode_reply(data)) == (name, version, request_id, tensors)


def test_large_tensors_are_views() -> None:
    """A large tensor is not copied out of the received message (docs/v2-mapping.md §11)."""
    data = _response([("o", "UINT8", (10**6,), bytes(10**6))]).SerializeToString()
    (tensor,) = framing.decode_reply(data).outputs
    assert isinstance(tensor.data, memoryview)
    assert tensor.data.obj is data


@given(st.binary(max_size=60), st.booleans())
@example(b"\xff" * 11, True)
@example(b"\x0b\x0c", True)
@example(b"\x32\xff\xff\xff\xff\x0f", True)
def test_scanner_finds_what_protobuf_finds(junk: bytes, padded: bool) -> None:
    """For arbitrary bytes the scanner returns protobuf's tensors, or refuses the message."""
    data = junk + (b"\x32\x02ab" if padded else b"")
    try:
        rest, (values,) = take(data, 0x32)
    except DecodeError:
        return
    try:
        expected = service_pb2.ModelInferResponse.FromString(data)
    except DecodeError:
        with pytest.raises(DecodeError):  # the scanner finds the error inside a record too
            service_pb2.ModelInferResponse.FromString(rest)
        return
    assert list(expected.raw_output_contents) == [bytes(value) for value in values]
    message = service_pb2.ModelInferResponse.FromString(rest)
    message.raw_output_contents.extend(map(bytes, values))
    assert message == expected


@pytest.mark.parametrize("data", [b"\xff\xff", b"\x32\x05ab", b"\xff" * CUT_FROM])
def test_foreign_answers_are_told_apart(data: bytes) -> None:
    """Bytes that are no inference response are an error of a foreign server."""
    with pytest.raises(ForeignError):
        framing.decode_reply(data)
    with pytest.raises(ForeignError):
        framing.decode_stream_reply(data, no_shm)


@pytest.mark.parametrize("size", [4, CUT_FROM + 4])
def test_stream_replies(size: int) -> None:
    """A stream's reply has its request id and its tensors, for any size."""
    response = _response([("o", "UINT8", (size,), bytes(size))])
    message = service_pb2.ModelStreamInferResponse(infer_response=response)
    data = message.SerializeToString()
    request_id, reply = framing.decode_stream_reply(data, no_shm)
    assert request_id == "7"
    assert isinstance(reply, InferReply)
    assert bytes_of(reply.outputs[0]) == bytes(size)


# --------------------------------------- lists of numbers in place of raw bytes (KServe v2)


def reply_with(
    datatype: str, shape: list[int], raw: tuple[bytes, ...] = (), **contents: Any
) -> bytes:
    """Return a serialised answer with one output."""
    message = service_pb2.ModelInferResponse(model_name="m", raw_output_contents=raw)
    output = message.outputs.add(name="y", datatype=datatype, shape=shape)
    output.contents.SetInParent()
    for name, values in contents.items():
        getattr(output.contents, name).extend(values)
    return bytes(message.SerializeToString())


@pytest.mark.parametrize(
    ("datatype", "field", "values"),
    [
        ("BOOL", "bool_contents", [True, False]),
        ("INT8", "int_contents", [-128, 127]),
        ("INT32", "int_contents", [-(2**31), 1]),
        ("INT64", "int64_contents", [-(2**63), 2**63 - 1]),
        ("UINT16", "uint_contents", [0, 65535]),
        ("UINT64", "uint64_contents", [2**64 - 1, 2**53 + 1]),
        ("FP32", "fp32_contents", [0.1, float("inf")]),
        ("FP64", "fp64_contents", [0.1, 5e-324]),
    ],
)
def test_numbers(datatype: str, field: str, values: list[Any]) -> None:
    """Every type with such a list is read exactly."""
    kind = {"BOOL": "bool", "FP32": "f4", "FP64": "f8"}.get(datatype, datatype.lower())
    contents: Any = {field: values}
    (tensor,) = framing.decode_reply(reply_with(datatype, [2], **contents)).outputs
    assert tensor.data == np.array(values, kind).tobytes()


def test_strings() -> None:
    """String elements get lengths, as in raw bytes."""
    (tensor,) = framing.decode_reply(
        reply_with("BYTES", [2], bytes_contents=[b"", b"\xff"])
    ).outputs
    assert tensor.data == b"\0\0\0\0\1\0\0\0\xff"


def test_raw_bytes_win() -> None:
    """An empty list beside raw bytes, as MLServer sends, is ignored."""
    (tensor,) = framing.decode_reply(reply_with("INT8", [2], (b"ab",))).outputs
    assert tensor.data == b"ab"


def test_value_out_of_range() -> None:
    """A number outside its type is refused, not cut."""
    with pytest.raises(UnreadableReply, match="out of (range|bounds)"):
        read(framing.decode_reply, reply_with("INT8", [1], int_contents=[128]))


@pytest.mark.parametrize(("datatype", "shape"), [("FP16", [1]), ("INT8", [2])])
def test_missing_data(datatype: str, shape: list[int]) -> None:
    """An output with neither list nor bytes is an invalid reply."""
    with pytest.raises(ForeignError):
        framing.decode_reply(reply_with(datatype, shape))

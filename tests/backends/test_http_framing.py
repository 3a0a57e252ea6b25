"""Inference bodies compared with tritonclient's, for calls from hypothesis."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput, InferResult

from tests.backends.contract_calls import bytes_of
from tritonclient_shim.backends.http import framing
from tritonclient_shim.backends.names import percent_encoded
from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import Unsendable
from tritonclient_shim.core.model import InferCall, OutputSpec, ShmSlice, TensorIn, best_classes
from tritonclient_shim.core.reading import CUT_FROM

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
REGIONS = st.builds(ShmSlice, NAMES, st.integers(1, 2**40), st.integers(0, 2**40))
UINT64 = st.integers(0, 2**64 - 1)
ARRAYS = [row for row in dtypes.TABLE if row.numpy is not None and row.itemsize]


@st.composite
def inputs(draw: st.DrawFn) -> TensorIn:
    """Return a tensor with its bytes cut into pieces, or in shared memory."""
    row = draw(st.sampled_from(ARRAYS))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    size = int(np.prod(shape)) * row.itemsize
    if draw(st.booleans()):
        return TensorIn(draw(NAMES), row.v2, shape, shm=draw(REGIONS))
    content = draw(st.binary(min_size=size, max_size=size))
    cut = draw(st.integers(0, size))
    return TensorIn(draw(NAMES), row.v2, shape, (content[:cut], memoryview(content)[cut:]), size)


OUTPUTS = st.builds(
    OutputSpec, NAMES, st.builds(best_classes, st.integers(0, 9)), st.none() | REGIONS
)
CALLS = st.builds(
    InferCall,
    NAMES,
    st.just(""),
    st.lists(inputs(), min_size=1, max_size=3).map(tuple),
    st.lists(OUTPUTS, max_size=3).map(tuple),
    request_id=st.just("") | NAMES,
    sequence_id=UINT64,
    sequence_start=st.booleans(),
    sequence_end=st.booleans(),
    priority=UINT64,
    timeout_us=UINT64,
)


def tritonclient_body(call: InferCall) -> tuple[bytes, int | None]:
    """Return the body that tritonclient would send for this call."""
    tensors = []
    for source in call.inputs:
        tensor = InferInput(source.name, list(source.shape), source.datatype)
        if source.shm is None:
            kind = dtypes.BY_V2[source.datatype].numpy
            data = np.frombuffer(b"".join(source.chunks), kind)
            tensor.set_data_from_numpy(data.reshape(source.shape))
        else:
            shm = source.shm
            tensor.set_shared_memory(percent_encoded(shm.region), shm.byte_size, shm.offset)
        tensors.append(tensor)
    body, length = InferenceServerClient.generate_request_body(
        tensors,
        [tritonclient_output(output) for output in call.outputs],
        call.request_id,
        call.sequence_id,
        call.sequence_start,
        call.sequence_end,
        call.priority,
        call.timeout_us or None,
    )
    return body, length


def tritonclient_output(spec: OutputSpec) -> InferRequestedOutput:
    """Return an output as tritonclient requests it."""
    if spec.shm is None:
        return InferRequestedOutput(spec.name, binary_data=True, class_count=spec.form.class_count)
    # tritonclient keeps "classification" beside the region, and refuses to set it up that way
    output = InferRequestedOutput(spec.name)
    output.set_shared_memory(percent_encoded(spec.shm.region), spec.shm.byte_size, spec.shm.offset)
    output._parameters.pop("binary_data", None)  # servers take false by default
    if spec.form.class_count:
        output._parameters["classification"] = spec.form.class_count
    return output


def header_and_data(body: bytes, length: int | None) -> tuple[Any, bytes]:
    """Return the header and the data of a body."""
    size = len(body) if length is None else length
    return json.loads(body[:size]), body[size:]


@given(CALLS)
def test_request_is_tritonclients(call: InferCall) -> None:
    """The JSON header has tritonclient's content, and the data are the same bytes."""
    pieces = framing.request_pieces(call)
    ours = header_and_data(b"".join(pieces), len(pieces[0]))
    assert ours == header_and_data(*tritonclient_body(call))


@given(NAMES, NAMES)
@example(".", "1")
@example("m", "a/..")
def test_path(name: str, version: str) -> None:
    """No name adds a '/', a blank or a step to the path."""
    if {".", ".."} & set(re.split(r"[/\\]", name) + re.split(r"[/\\]", version)):
        with pytest.raises(Unsendable):
            framing.model_path(name, version)
        return
    path = framing.model_path(name, version)
    assert path.count("/") == 5
    assert " " not in path
    assert path.isascii()


@st.composite
def responses(draw: st.DrawFn) -> tuple[bytes, int, list[tuple[str, np.ndarray]]]:
    """Return a response body, the length of its header, the tensors in it by name."""
    names = draw(st.lists(NAMES, max_size=3, unique=True))
    outputs, chunks, tensors = [], [], []
    for name in names:
        row = draw(st.sampled_from(ARRAYS))
        shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
        content = draw(st.binary(min_size=0, max_size=0)) if 0 in shape else None
        size = int(np.prod(shape)) * row.itemsize
        content = draw(st.binary(min_size=size, max_size=size)) if content is None else content
        entry: dict[str, Any] = {"name": name, "datatype": row.v2, "shape": shape}
        entry["parameters"] = {"binary_data_size": size}
        outputs.append(entry)
        chunks.append(content)
        tensors.append((name, np.frombuffer(content, row.numpy).reshape(shape)))
    header = {"model_name": "m", "model_version": "1", "id": "5", "outputs": outputs}
    text = json.dumps(header).encode()
    return text + b"".join(chunks), len(text), tensors


@given(responses())
def test_response_is_tritonclients(response: tuple[bytes, int, list[tuple[str, Any]]]) -> None:
    """Every output has the bytes, datatype and shape that tritonclient reads."""
    body, length, tensors = response
    reply = framing.parse_response(memoryview(body), str(length), "5", "5")
    theirs = InferResult.from_response_body(body, header_length=length)
    assert (reply.model_name, reply.model_version, reply.request_id) == ("m", "1", "5")
    assert [output.name for output in reply.outputs] == [name for name, _ in tensors]
    for output, (name, array) in zip(reply.outputs, tensors):
        assert bytes_of(output) == array.tobytes()
        assert output.shape == tuple(theirs.get_output(name)["shape"])
        if array.size:
            assert theirs.as_numpy(name).tobytes() == bytes_of(output)


def body_of(size: int) -> list[Any]:
    """Return the pieces of a request with a tensor of this size in bytes, one byte in memory."""
    data = np.broadcast_to(np.uint8(0), (size,)).data
    return framing.request_pieces(
        InferCall("m", "", (TensorIn("i", "UINT8", (size,), (data,), size),), ())
    )


def test_two_gib_are_refused_before_sending() -> None:
    """A body above Triton's limit is refused, and the message has the limit and remedies."""
    largest = 2**31 - 1
    header_size = len(body_of(largest - 1000)[0])
    header, data = body_of(largest - header_size)
    assert len(header) + data.nbytes == largest
    with pytest.raises(Unsendable) as caught:
        body_of(largest - header_size + 1)
    assert str(caught.value) == (
        "HTTP client failed: the request has 2147483648 bytes; Triton takes at most 2147483647. "
        "Send fewer or smaller tensors at one time, or use shared memory"
    )


def test_shared_memory_has_no_limit() -> None:
    """Tensors in shared memory are not part of the body, whatever their size."""
    region = ShmSlice("r", 2**40)
    tensor = TensorIn("i", "UINT8", (2**40,), (), 2**40, region)
    assert len(framing.request_pieces(InferCall("m", "", (tensor,), ()))) == 1


@pytest.mark.parametrize("size", [2, CUT_FROM])
def test_outputs_are_views(size: int) -> None:
    """A tensor of a large response is not copied. One of a small response does not keep it."""
    parameters = {"binary_data_size": size}
    output = {"name": "o", "datatype": "INT8", "shape": [size], "parameters": parameters}
    header = json.dumps({"model_name": "m", "outputs": [output]}).encode()
    body = bytearray(header + bytes(size))
    (tensor,) = framing.parse_response(body, str(len(header))).outputs
    body[-1:] = b"z"
    assert bytes_of(tensor)[-1:] == (b"z" if size == CUT_FROM else b"\0")

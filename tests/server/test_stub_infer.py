"""Infer through the raw stub on a real server: request forms, results, refusals
(docs/v1-behaviour.md §9.2).
"""

from __future__ import annotations

import struct
from itertools import product
from typing import Any, Iterator

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tensorrtserver.api import grpc_service_pb2, model_config_pb2
from tensorrtserver.api import request_status_pb2 as codes
from tests.server.stub_cases import (
    SECONDS,
    SUCCESS,
    classify_request,
    infer_request,
    is_sum,
    simple_request,
    stub_at,
)

pb: Any = grpc_service_pb2  # the modules that it imports are not in its stubs
FP32_4 = np.array([1, 2, 3, 4], np.float32)


@pytest.fixture(scope="module")
def stub(triton: Any) -> Iterator[Any]:
    """A stub on the session's server."""
    with stub_at(triton.grpc) as made:
        yield made


def outputs_of(response: Any) -> list[Any]:
    """The outputs of a response that must be a success."""
    assert response.request_status.code == SUCCESS, response.request_status
    return list(response.meta_data.output)


# ------------------------------------------------------------------------------ requests


@pytest.mark.parametrize("dims", [(), (16,), (3, 16)], ids=["none", "entry", "batch"])
@pytest.mark.parametrize("sized", [False, True], ids=["unsized", "sized"])
def test_dims_may_be_omitted_or_have_the_batch(stub: Any, dims: Any, sized: bool) -> None:
    """Inputs come without dims, with dims or with the batch size in them."""
    # docs/v1-behaviour.md §F.7
    request = simple_request(5, batch=3)
    for item in request.meta_data.input:
        item.dims.extend(dims)
        item.batch_byte_size = 3 * 16 * 4 if sized else 0
    response = stub.Infer(request, SECONDS)
    assert is_sum(response, 5, batch=3)
    assert [list(one.raw.dims) for one in outputs_of(response)] == [[16], [16]]
    assert [one.raw.batch_byte_size for one in outputs_of(response)] == [192, 192]


@pytest.mark.parametrize("dims", [(2, 3), (1, 2, 3)])
def test_variable_dims(stub: Any, dims: tuple[int, ...]) -> None:
    """Variable dims are those of one entry, with or without the batch size before them."""
    data = np.arange(6, dtype=np.float32)
    request = infer_request("identity_2d", {"INPUT0": data}, ["OUTPUT0"])
    request.meta_data.input[0].dims.extend(dims)
    response = stub.Infer(request)
    assert list(outputs_of(response)[0].raw.dims) == [2, 3]
    assert response.raw_output[0] == data.tobytes()


def test_request_may_be_changed_and_sent_again(stub: Any) -> None:
    """``del raw_input[:]`` and ``dims[0] = n`` between two calls (docs/v1-behaviour.md §F.7)."""
    request = infer_request("identity_fp32", {"INPUT0": FP32_4}, ["OUTPUT0"])
    request.meta_data.input[0].dims.append(4)
    assert stub.Infer(request).raw_output == [FP32_4.tobytes()]
    del request.raw_input[:]
    request.raw_input.append(FP32_4[:2].tobytes())
    request.meta_data.input[0].dims[0] = 2
    assert stub.Infer(request).raw_output == [FP32_4[:2].tobytes()]


def test_strings_without_batch_byte_size(stub: Any) -> None:
    """Strings are length-prefixed; their total size may be left out (docs/v1-behaviour.md §3.6)."""
    raw = b"".join(struct.pack("<I", len(text)) + text for text in [b"7"] * 16)
    request = infer_request("simple_string", {"INPUT0": raw, "INPUT1": raw}, ["OUTPUT0"])
    fourteen = struct.pack("<I", 2) + b"14"
    assert stub.Infer(request).raw_output == [fourteen * 16]


def own_infer_request() -> Any:
    """The class InferRequest of a program that has generated v1's protos for itself."""
    pool = descriptor_pool.DescriptorPool()
    for module in (model_config_pb2, pb.api__pb2, codes, pb.server__status__pb2, pb):
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        pool.Add(file)
    found = pool.FindMessageTypeByName("nvidia.inferenceserver.InferRequest")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


def test_requests_of_the_users_own_classes(stub: Any) -> None:
    """A program's own generated messages are accepted; the answers are of our classes."""
    theirs = own_infer_request().FromString(simple_request(9).SerializeToString())
    assert not isinstance(theirs, pb.InferRequest)
    for response in (stub.Infer(theirs), stub.Infer.future(theirs).result(SECONDS)):
        assert is_sum(response, 9)
        assert isinstance(response, pb.InferResponse)
    assert is_sum(next(stub.StreamInfer(iter([theirs]), SECONDS)), 9)


# ------------------------------------------------------------------------------- results


def test_outputs_in_the_order_asked_for(stub: Any) -> None:
    """``raw_output`` has an entry per output of the request, in its order."""
    # docs/v1-behaviour.md §9.2
    request = simple_request(3)
    del request.meta_data.output[:]
    for name in ("OUTPUT1", "OUTPUT0"):
        request.meta_data.output.add(name=name)
    response = stub.Infer(request)
    assert [one.name for one in outputs_of(response)] == ["OUTPUT1", "OUTPUT0"]
    less, summed = (np.frombuffer(raw, np.int32) for raw in response.raw_output)
    assert (less[0], summed[0]) == (2, 4)
    assert {one.data_type for one in outputs_of(response)} == {model_config_pb2.TYPE_INT32}


def test_one_output_asked_for_twice(stub: Any) -> None:
    """The same output twice is answered twice (docs/v1-behaviour.md §F.7)."""
    request = simple_request(3)
    request.meta_data.output.add(name="OUTPUT0")
    response = stub.Infer(request)
    assert [one.name for one in outputs_of(response)] == ["OUTPUT0", "OUTPUT1", "OUTPUT0"]
    assert response.raw_output[0] == response.raw_output[2] != response.raw_output[1]


def test_one_output_raw_and_as_classes(stub: Any) -> None:
    """A class output has an empty entry in ``raw_output``, a raw one its bytes."""
    # docs/v1-behaviour.md §9.2
    response = stub.Infer(classify_request(("OUTPUT", 2), ("OUTPUT", 0), ("OUTPUT", 1)))
    two, raw, one = outputs_of(response)
    assert [len(entry) for entry in response.raw_output] == [0, 40, 0]
    assert [cls.idx for cls in two.batch_classes[0].cls] == [1, 2]
    assert [cls.idx for cls in one.batch_classes[0].cls] == [1]
    assert (list(raw.raw.dims), raw.raw.batch_byte_size) == ([10], 40)


@pytest.mark.smoke
def test_class_values_are_exact(stub: Any) -> None:
    """Class values are the float32 scores bit for bit, not v2's six decimals."""
    score = np.float32(0.123456789e-7)
    scores = np.zeros(20, np.float32)
    scores[3], scores[17] = score, 1
    request = infer_request("classify", {"INPUT": scores}, batch=2)
    request.meta_data.output.add(name="OUTPUT").cls.count = 1
    first, second = outputs_of(stub.Infer(request))[0].batch_classes
    assert (first.cls[0].idx, first.cls[0].label) == (3, "a:b c")
    assert np.float32(first.cls[0].value) == score
    assert (second.cls[0].idx, second.cls[0].label, second.cls[0].value) == (7, "", 1.0)


def test_model_version_used(stub: Any) -> None:
    """The response names the version that answered; -1 asks for the latest."""
    # docs/v1-behaviour.md §9.1
    request = infer_request("multi_version", {"INPUT0": FP32_4[:1]}, ["OUTPUT0"])
    assert stub.Infer(request).meta_data.model_version == 3
    request.model_version = 2
    response = stub.Infer(request)
    assert (response.meta_data.model_version, response.meta_data.model_name) == (
        2,
        request.model_name,
    )
    assert np.frombuffer(response.raw_output[0], np.float32)[0] == 2


def test_sequence(stub: Any) -> None:
    """Flags and a 64-bit correlation id of the header reach a sequence model."""
    # docs/v1-behaviour.md §3.9
    sums = []
    for flags, value in ((1, 10), (0, 5), (2, 1)):
        request = infer_request("sequence_sum", {"INPUT": np.array([value], np.int32)}, ["OUTPUT"])
        request.meta_data.correlation_id = 2**63 + 77
        request.meta_data.flags = flags
        sums.append(int(np.frombuffer(stub.Infer(request).raw_output[0], np.int32)[0]))
    assert sums == [10, 15, 16]


def test_status_of_a_success(stub: Any) -> None:
    """SUCCESS with the server's id and request ids that grow; no message."""
    # docs/v1-behaviour.md §9.2
    first, second = (stub.Infer(simple_request()).request_status for _ in range(2))
    assert first.server_id
    assert (first.msg, second.server_id) == ("", first.server_id)
    assert 0 < first.request_id < second.request_id


# ------------------------------------------------------------------------------ refusals

UNKNOWN_OUTPUT = infer_request("failing", {"INPUT0": FP32_4[:1] * 0}, ["NONE"])
REFUSED = [
    (simple_request(model="nope"), codes.UNAVAILABLE, "Request for unknown model: 'nope'"),
    (infer_request("failing", {}), codes.INVALID_ARG, "expected 1 inputs but got 0 inputs for mo"),
    (infer_request("failing", {"X": b"1234"}), codes.INVALID_ARG, "unexpected inference input 'X'"),
    (UNKNOWN_OUTPUT, codes.INVALID_ARG, "unexpected inference output 'NONE' for model 'failing'"),
    (simple_request(batch=9), codes.INVALID_ARG, "inference request batch-size must be <= 8 for"),
    (simple_request(batch=0), codes.INVALID_ARG, "inference request batch-size must be >= 1 for"),
    (
        infer_request("failing", {"INPUT0": b"12345"}, ["OUTPUT0"]),
        codes.INVALID_ARG,
        "unexpected size 5 for input 'INPUT0', expecting 4 for model 'failing'",
    ),
    (
        infer_request("identity_fp32", {"INPUT0": FP32_4}, ["OUTPUT0"]),
        codes.INVALID_ARG,
        "model supports variable-size for input 'INPUT0', request must specify input shape for",
    ),
    (
        infer_request("failing", {"INPUT0": FP32_4[2:3]}, ["OUTPUT0"]),
        codes.INTERNAL,
        "the model refused value 3",
    ),
    (
        infer_request("sequence_sum", {"INPUT": np.zeros(1, np.int32)}, ["OUTPUT"]),
        codes.INVALID_ARG,
        "inference request to model 'sequence_sum' must specify a non-zero correlation ID",
    ),
]


@pytest.mark.parametrize("way", ["call", "future", "stream"])
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[2][:30])
@pytest.mark.smoke
def test_refusals_are_in_the_status(stub: Any, case: Any, way: str) -> None:
    """v1's code and words, the id echoed, everything else empty, no RpcError."""
    # docs/v1-behaviour.md §3.4, §9.3
    request, code, text = case
    request.meta_data.id = 2**63 + 5
    answer = {
        "call": lambda: stub.Infer(request),
        "future": lambda: stub.Infer.future(request).result(SECONDS),
        "stream": lambda: next(stub.StreamInfer(iter([request]), SECONDS)),
    }[way]
    response = answer()
    assert response.request_status.msg.startswith(text), response.request_status
    assert response.request_status.code == code
    assert response.request_status.server_id
    assert response.request_status.request_id > 0
    assert response.meta_data == pb.InferResponse(meta_data={"id": 2**63 + 5}).meta_data
    assert not response.raw_output


def test_version_that_does_not_exist(stub: Any) -> None:
    """An unknown version was UNAVAILABLE to an inference, as was a negative one."""
    # docs/v1-behaviour.md §9.3
    # whatever else is wrong with the request: v1's server looked for the version first
    for version, request in product((99, -2), (simple_request(), infer_request("simple", {}))):
        request.model_version = version
        status = stub.Infer(request).request_status
        assert status.code == codes.UNAVAILABLE
        assert status.msg == f"Request for unknown model: 'simple' version {version} is not found"
    request.model_version = 1
    assert stub.Infer(request).request_status.code == codes.INVALID_ARG


def test_class_of_strings(stub: Any) -> None:
    """Classes of a STRING output are refused as UNSUPPORTED, and the server lives."""
    # docs/v1-behaviour.md §3.4
    raw = (struct.pack("<I", 1) + b"7") * 16
    request = infer_request("simple_string", {"INPUT0": raw, "INPUT1": raw})
    request.meta_data.output.add(name="OUTPUT0").cls.count = 1
    status = stub.Infer(request).request_status
    assert status.code == codes.UNSUPPORTED
    assert "due to unsupported type 'TYPE_STRING'" in status.msg
    assert is_sum(stub.Infer(simple_request(1)), 1)


# -------------------------------------------------------------------------------- PyTriton


def test_functions_bound_with_pytriton(pytriton: Any) -> None:
    """Issue 3: raw scripts run against PyTriton's models, classes and streams included."""
    with stub_at(pytriton.grpc) as stub:
        assert is_sum(stub.Infer(simple_request(4, batch=2), SECONDS), 4, batch=2)
        response = stub.Infer(classify_request(("OUTPUT", 1), model="classifier"))
        assert outputs_of(response)[0].batch_classes[0].cls[0].idx == 1
        answers = list(stub.StreamInfer(iter([simple_request(n) for n in range(3)]), SECONDS))
        assert [is_sum(answer, n) for n, answer in enumerate(answers)] == [True] * 3
        found = stub.Status(pb.StatusRequest(model_name="simple")).server_status
        assert found.model_status["simple"].config.max_batch_size == 8

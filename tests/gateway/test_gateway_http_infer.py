"""``POST /api/infer`` through the gateway (docs/v1-behaviour.md §3.4, §9.1, §D)."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format

from tests.gateway.gateway_process import Answer, Gateway, code_of
from tests.gateway.grpc_requests import BODY, SIMPLE, A, B
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.protos.model_config_pb2 import TYPE_INT32

BOTH = f'{SIMPLE} output {{ name: "OUTPUT0" }} output {{ name: "OUTPUT1" }}'


def header_of(answer: Answer) -> api_pb2.InferResponseHeader:
    """Return the message in NV-InferResponse."""
    header = api_pb2.InferResponseHeader()
    text_format.Parse(answer.headers["NV-InferResponse"], header)
    return header


@pytest.mark.smoke
@pytest.mark.parametrize("binary", [True, False])
def test_tensors_then_header(gateway: Gateway, binary: bool) -> None:
    """The body is raw outputs in request order, then the header (docs/v1-behaviour.md §D).

    Text has no data_type: clients before 1.12 refuse a header with a field unknown to them.
    """
    answer = gateway.infer("simple?format=binary" if binary else "simple", BOTH, BODY)
    assert (answer.code, code_of(answer.status)) == (200, "SUCCESS")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.body[:128] == (A + B).tobytes() + (A - B).tobytes()
    header = api_pb2.InferResponseHeader()
    if binary:
        header.ParseFromString(answer.body[128:])
    else:
        assert text_format.Parse(answer.body[128:].decode(), header) == header_of(answer)
    assert [output.data_type for output in header.output] == 2 * [TYPE_INT32 if binary else 0]
    assert (header.model_name, header.model_version, header.batch_size) == ("simple", 1, 1)
    outputs = [(row.name, list(row.raw.dims), row.raw.batch_byte_size) for row in header.output]
    assert outputs == [("OUTPUT0", [16], 64), ("OUTPUT1", [16], 64)]


def classify(gateway: Gateway, batch: int, count: int) -> Answer:
    """Send a classification with ``count`` classes."""
    header = f'id: {10**18} batch_size: {batch} input {{ name: "INPUT" dims: 1000 }} '
    header += f'output {{ name: "OUTPUT" cls {{ count: {count} }} }}'
    scores = np.tile(np.arange(1000, dtype=np.float32), batch).tobytes()
    return gateway.infer("classify_1000?format=binary", header, scores)


def test_long_headers(gateway: Gateway) -> None:
    """No header line exceeds 64 KB, the limit of Python's client; the body has the classes."""
    answer = classify(gateway, 2, 743)  # just below
    assert (answer.code, header_of(answer).id) == (200, 10**18)
    answer = classify(gateway, 8, 1000)
    assert not header_of(answer).output[0].batch_classes
    (output,) = api_pb2.InferResponseHeader.FromString(answer.body).output
    assert [len(entry.cls) for entry in output.batch_classes] == [1000] * 8


def test_header_is_missing_or_garbled(gateway: Gateway) -> None:
    """A missing header gets 1.15's text, an unreadable header the reason. Neither has NV-Status."""
    # docs/v1-behaviour.md §9.1
    missing = gateway.post("/api/infer/simple", BODY)
    text = b"The request header should contain 'NV-InferRequest'"
    assert (missing.code, missing.status, missing.body) == (400, None, text)
    garbled = gateway.infer("simple", "batch_size: one", BODY)
    assert (garbled.code, garbled.status) == (400, None)
    assert garbled.body.startswith(b"NV-InferRequest is not understood: 1:13 ")


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (BODY[:-4], "unexpected size for input 'INPUT1', expecting 4 bytes for model 'simple'"),
        (BODY + b"1234", "unexpected additional input data for model 'simple'"),
    ],
)
def test_sizes_of_the_body(gateway: Gateway, body: bytes, message: str) -> None:
    """A refusal is 400 with v1's code and text, an empty body, and a header with the id alone."""
    # docs/v1-behaviour.md §3.4
    answer = gateway.infer("simple", f"id: 3 {BOTH}", body)
    assert (answer.code, answer.body) == (400, b"")
    assert (code_of(answer.status), answer.status.msg) == ("INVALID_ARG", message)
    assert header_of(answer) == api_pb2.InferResponseHeader(id=3)


def test_names_beyond_ascii_in_a_header(gateway: Gateway) -> None:
    """NV-Status is ASCII with each version of protobuf; other bytes are octal escapes."""
    header = 'batch_size: 1 input { name: "\\303\\244" } output { name: "OUTPUT0" }'
    answer = gateway.infer("identity_fp32", header, b"")
    assert answer.code != 200
    assert "\\303\\244" in answer.headers["NV-Status"]
    assert answer.headers["NV-Status"].isascii()

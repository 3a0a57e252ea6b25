"""``POST /api/infer`` gateway the gateway (docs/v1-behaviour.md §3.4, §9.1, §D)."""

from __future__ import annotations

import struct
from http.client import HTTPConnection
from typing import Iterator

import numpy as np
import pytest
from google.protobuf import text_format

from tests.gateway.gateway_process import Answer, Gateway, code_of, read_answer
from tritonclient_shim.protos import api_pb2

pytest_plugins = ["tests.gateway.gateway_fixtures"]

A, B = np.arange(16, dtype=np.int32), np.ones(16, dtype=np.int32)
BODY = A.tobytes() + B.tobytes()
INPUTS = 'input { name: "INPUT0" dims: 16 } input { name: "INPUT1" dims: 16 } '
BOTH = f'batch_size: 1 {INPUTS}output {{ name: "OUTPUT0" }} output {{ name: "OUTPUT1" }}'


def header_of(answer: Answer) -> api_pb2.InferResponseHeader:
    """The message in NV-InferResponse."""
    text = answer.headers["NV-InferResponse"]
    header = api_pb2.InferResponseHeader()
    text_format.Parse(text, header)
    return header


@pytest.mark.smoke
def test_tensors_then_header(gateway: Gateway) -> None:
    """Raw outputs in request order, then the serialised header again (docs/v1-behaviour.md §D)."""
    answer = gateway.infer("simple?format=binary", BOTH, BODY)
    assert (answer.code, code_of(answer.status)) == (200, "SUCCESS")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.body[:128] == (A + B).tobytes() + (A - B).tobytes()
    header = api_pb2.InferResponseHeader.FromString(answer.body[128:])
    assert (header.model_name, header.model_version, header.batch_size) == ("simple", 1, 1)
    assert [(o.name, list(o.raw.dims), o.raw.batch_byte_size) for o in header.output] == [
        ("OUTPUT0", [16], 64),
        ("OUTPUT1", [16], 64),
    ]


def test_text_header(gateway: Gateway) -> None:
    """Without format=binary the header behind the tensors is text (docs/v1-behaviour.md §9.1)."""
    answer = gateway.infer("simple", BOTH, BODY)
    header = text_format.Parse(answer.body[128:].decode(), api_pb2.InferResponseHeader())
    assert header == header_of(answer)


def test_no_new_fields_in_text(gateway: Gateway) -> None:
    """Text has no data_type: clients before 1.12 refuse a header with a field unknown to them."""
    answer = gateway.infer("simple", BOTH, BODY)
    assert "data_type" not in answer.headers["NV-InferResponse"]
    assert b"data_type" not in answer.body


def test_order_batch_and_id(gateway: Gateway) -> None:
    """Outputs come in the order asked for, a batch back to back; the id is echoed."""
    # docs/v1-behaviour.md §4.5
    header = f'id: 7 batch_size: 2 {INPUTS}output {{ name: "OUTPUT1" }}'
    answer = gateway.infer("simple/1?format=binary", header, A.tobytes() * 2 + B.tobytes() * 2)
    assert answer.body[:128] == (A - B).tobytes() * 2
    assert header_of(answer).id == 7


def test_classes_have_no_bytes(gateway: Gateway) -> None:
    """A CLASS output is in the header, and contributes nothing to the body."""
    # docs/v1-behaviour.md §9.1
    header = 'batch_size: 1 input { name: "INPUT" dims: 10 } '
    header += 'output { name: "OUTPUT" cls { count: 2 } }'
    scores = np.arange(10, dtype=np.float32).tobytes()
    answer = gateway.infer("classify?format=binary", header, scores)
    (output,) = api_pb2.InferResponseHeader.FromString(answer.body).output
    assert [c.label for c in output.batch_classes[0].cls] == ["l9", "l8"]
    assert header_of(answer).output[0].batch_classes == output.batch_classes


def test_long_header_leaves_classes_out(gateway: Gateway) -> None:
    """libcurl refuses header lines of 100 KB: then classes are in the body alone."""
    header = 'batch_size: 8 input { name: "INPUT" dims: 1000 } '
    header += 'output { name: "OUTPUT" cls { count: 1000 } }'
    answer = gateway.infer("classify_1000?format=binary", header, bytes(8 * 4000))
    assert len(answer.headers["NV-InferResponse"]) < 100_000
    (output,) = api_pb2.InferResponseHeader.FromString(answer.body).output
    assert [len(entry.cls) for entry in output.batch_classes] == [1000] * 8


def test_header_lines_that_python_reads(gateway: Gateway) -> None:
    """Python's ``http.client`` refuses a line of more than 64 KB, the field's name included."""
    header = f'id: {10**18} batch_size: 2 input {{ name: "INPUT" dims: 1000 }} '
    header += 'output { name: "OUTPUT" cls { count: 743 } }'
    scores = np.tile(np.arange(1000, dtype=np.float32), 2).tobytes()
    answer = gateway.infer("classify_1000?format=binary", header, scores)
    assert (answer.code, header_of(answer).id) == (200, 10**18)


def test_strings(gateway: Gateway) -> None:
    """A string input has the size that batch_byte_size tells (docs/v1-behaviour.md §D)."""
    data = b"".join(struct.pack("<I", len(text)) + text for text in (b"a", b"bc", b""))
    header = f'batch_size: 1 input {{ name: "INPUT0" dims: 3 batch_byte_size: {len(data)} }} '
    answer = gateway.infer("identity_string", header + 'output { name: "OUTPUT0" }', data)
    assert answer.body[: len(data)] == data
    assert header_of(answer).output[0].raw.batch_byte_size == len(data)


def test_large_tensors(gateway: Gateway) -> None:
    """Tensors beyond every buffer's size come back bit by bit."""
    data = np.random.default_rng(0).random(2_000_000, dtype=np.float32).tobytes()
    header = 'batch_size: 1 input { name: "INPUT0" dims: 2000000 } output { name: "OUTPUT0" }'
    assert gateway.infer("identity_fp32", header, data).body[: len(data)] == data


def test_chunked_body_and_keep_alive(gateway: Gateway) -> None:
    """A body in chunks, twice on one connection, which v1's contexts keep."""
    # docs/v1-behaviour.md §9.1
    connection = HTTPConnection(gateway.http, timeout=60)

    def chunks() -> Iterator[bytes]:
        yield BODY[:50]
        yield BODY[50:]

    for _ in range(2):
        headers = {"NV-InferRequest": BOTH}
        connection.request("POST", "/api/infer/simple", chunks(), headers, encode_chunked=True)
        assert read_answer(connection).body[:64] == (A + B).tobytes()
    connection.close()


def test_expect_continue(gateway: Gateway) -> None:
    """A client that waits for 100 Continue gets it, and then its answer."""
    connection = HTTPConnection(gateway.http, timeout=60)
    connection.putrequest("POST", "/api/infer/simple")
    for name, value in (
        ("NV-InferRequest", BOTH),
        ("Content-Length", str(len(BODY))),
        ("Expect", "100-continue"),
    ):
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.send(BODY)
    assert read_answer(connection).code == 200
    connection.close()


def test_header_is_missing_or_garbled(gateway: Gateway) -> None:
    """No NV-InferRequest: 1.15's text; an unreadable one: neither text nor NV-Status."""
    # docs/v1-behaviour.md §9.1
    missing = gateway.post("/api/infer/simple", BODY)
    text = b"The request header should contain 'NV-InferRequest'"
    assert (missing.code, missing.status, missing.body) == (400, None, text)
    garbled = gateway.infer("simple", "batch_size: one", BODY)
    assert (garbled.code, garbled.status, garbled.body) == (400, None, b"")


@pytest.mark.parametrize(
    ("path", "header", "body", "code", "message"),
    [
        (
            "nope",
            BOTH,
            BODY,
            "UNAVAILABLE",
            "Request for unknown model: 'nope' is not found",
        ),
        (
            "simple/7",
            BOTH,
            BODY,
            "UNAVAILABLE",
            "Request for unknown model: 'simple' version 7 is not found",
        ),
        (
            "simple",
            BOTH.replace("batch_size: 1", "batch_size: 9"),
            BODY,
            "INVALID_ARG",
            "inference request batch-size must be <= 8 for 'simple'",
        ),
        (
            "simple",
            BOTH,
            BODY[:-4],
            "INVALID_ARG",
            "unexpected size for input 'INPUT1', expecting 4 bytes for model 'simple'",
        ),
        (
            "simple",
            BOTH,
            BODY + b"1234",
            "INVALID_ARG",
            "unexpected additional input data for model 'simple'",
        ),
        (
            "simple",
            BOTH.replace("OUTPUT1", "OUTPUT2"),
            BODY,
            "INVALID_ARG",
            "unexpected inference output 'OUTPUT2' for model 'simple'",
        ),
    ],
    ids=["model", "version", "batch", "short", "long", "output"],
)
@pytest.mark.smoke
def test_refusals(
    gateway: Gateway, path: str, header: str, body: bytes, code: str, message: str
) -> None:
    """400, v1's code and text, an empty body, and a response header with the id alone."""
    # docs/v1-behaviour.md §3.4
    answer = gateway.infer(path, f"id: 3 {header}", body)
    assert (answer.code, answer.body) == (400, b"")
    assert (code_of(answer.status), answer.status.msg) == (code, message)
    assert header_of(answer) == api_pb2.InferResponseHeader(id=3)


def test_the_models_own_error(gateway: Gateway) -> None:
    """What a model refuses is the request's error, in v1's form; the gateway goes on."""
    header = 'batch_size: 1 input { name: "INPUT0" dims: 1 } output { name: "OUTPUT0" }'
    refused = gateway.infer("failing", header, np.array([5], np.float32).tobytes())
    assert refused.code == 400 and refused.status.msg == "the model refused value 5"
    assert gateway.infer("failing", header, np.array([0], np.float32).tobytes()).code == 200


def test_names_beyond_ascii_in_a_header(gateway: Gateway) -> None:
    """NV-Status is ASCII whatever protobuf's version prefers: bytes beyond it are octal escapes."""
    header = 'batch_size: 1 input { name: "\\303\\244" } output { name: "OUTPUT0" }'
    answer = gateway.infer("identity_fp32", header, b"")
    assert answer.code != 200
    assert "\\303\\244" in answer.headers["NV-Status"]
    assert answer.headers["NV-Status"].isascii()

"""Requests of v1's two wire protocols, correct and changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf import text_format
from hypothesis import strategies as st

from tests.backends.odd_answers import changed_message, cut
from tests.gateway.grpc_requests import simple
from tritonclient_shim.protos import grpc_service_pb2 as pb


def _infer(model: str, tensors: str, *data: bytes) -> Any:
    request = pb.InferRequest(model_name=model, model_version=-1, raw_input=data)
    text_format.Parse(f"batch_size: 1 {tensors}", request.meta_data)
    return request


def _shm(text: str) -> Any:
    return text_format.Parse(text, pb.SharedMemoryControlRequest())


#: Messages of inference, which HTTP carries in a header and a body.
INFER = [
    simple(7),
    _infer(
        "classify",
        'input { name: "INPUT" } output { name: "OUTPUT" cls { count: 2 } }',
        np.arange(10, dtype=np.float32).tobytes(),
    ),
    _infer(
        "identity_string",
        'input { name: "INPUT0" dims: 2 } output { name: "OUTPUT0" }',
        b"\1\0\0\0a\2\0\0\0bc",
    ),
    _infer(
        "simple",
        'input { name: "INPUT0" shared_memory { name: "fuzzed" byte_size: 64 } }'
        'input { name: "INPUT1" } output { name: "OUTPUT0" }',
        bytes(64),
    ),
]
#: Correct requests of each rpc.
REQUESTS: dict[str, list[Any]] = {
    "Infer": INFER,
    "StreamInfer": INFER,
    "Status": [pb.StatusRequest(), pb.StatusRequest(model_name="simple")],
    "Health": [pb.HealthRequest(mode="live"), pb.HealthRequest(mode="ready")],
    "Repository": [pb.RepositoryRequest(index=True)],
    "ModelControl": [pb.ModelControlRequest(model_name="unknown", type=1)],
    "SharedMemoryControl": [
        _shm(
            'register { name: "fuzzed" byte_size: 64'
            ' system_shared_memory { shared_memory_key: "/fuzzed_nowhere" } }'
        ),
        *(_shm('unregister { name: "fuzzed" }'), _shm("unregister_all {}"), _shm("status {}")),
    ],
}
_SHM = "/api/sharedmemorycontrol"
_LINES = [
    *("GET /api/status", "GET /api/status/simple", "GET /api/health/live", "GET /api/health/ready"),
    *("GET /api/repository/index", "POST /api/modelcontrol/load/unknown", f"GET {_SHM}/status"),
    *(f"POST {_SHM}/register/fuzzed//nowhere/0/64", f"POST {_SHM}/unregister/fuzzed"),
    *(f"POST {_SHM}/unregisterall", f"POST {_SHM}/cudaregister/fuzzed/64/0"),
]
_ODD_LINES = [
    *("CONNECT x:1", "OPTIONS *", "POST *", "HEAD /api/status", "get /api/status", "GET", "", "é"),
    *("GET  /api/status", "TRACE /api/status", "POST http://[", "POST http://x:99999/api/status"),
    *("GET //[x/api/status", "PRI * HTTP/2.0", "GET /api/status HTTP/9.9", "\udcff \udcff"),
]
_PARTS = [
    *("..", ".", "%2e%2e", "%00", "%", "%zz", "", "é", "\udcff", "x" * 9000, "?", "?a=b", "#x"),
    *("-1", "0", "1", "2", "99999999999999999999", "²", "a b", "\t", ";", "simple", "[", "]"),
]
_FIELDS = [
    *("Content-Length: 0", "Content-Length: 128", "Content-Length: -1", "Content-Length: +1"),
    *(f"Content-Length: {10**22}", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip"),
    *("Content-Encoding: gzip", "Content-Encoding: br", "Expect: x", "Expect: 100-continue"),
    *("Connection: close", "Connection: keep-alive, upgrade", "Upgrade: h2c", "Host:", ": x", "X"),
    *("Host: a, b", "X : y", " y", "X: \udcff\udcfe", "X: " + "y" * 9000, "Accept: \x01"),
    *("Accept: application/json", "Accept-Encoding: gzip", "Content-Type: \udcff", "NV-Status: x"),
    *("NV-InferRequest:", "NV-InferRequest: x {", "NV-InferRequest: batch_size: 1"),
    *("NV-InferRequest: " + "a {" * 5000, "TE: trailers", "Range: bytes=0-1", "Cookie: =; c"),
]  # fmt: skip


def _infer_request(message: Any) -> tuple[str, list[str], bytes]:
    """Return the line, the header fields and the body of an inference request."""
    header = text_format.MessageToString(message.meta_data, as_one_line=True)
    body = b"".join(message.raw_input)
    version = f"/{message.model_version}" if message.model_version > 0 else ""
    fields = [f"NV-InferRequest: {header}", f"Content-Length: {len(body)}"]
    return f"POST /api/infer/{message.model_name}{version}", fields, body


def _other_path(draw: Any, line: str) -> str:
    """Return a line with one other part in its path."""
    parts = line.split("/")
    parts[draw(st.integers(0, len(parts) - 1))] = draw(st.sampled_from(_PARTS))
    return "/".join(parts)


@st.composite
def http_requests(draw: Any) -> bytes:
    """Draw the bytes of a connection: a request, mostly with a changed part."""
    if draw(st.booleans()):
        message = draw(st.sampled_from(INFER))
        line, fields, body = _infer_request(changed_message(draw, message))
    else:
        line, fields, body = draw(st.sampled_from(_LINES)), [], b""
    how = draw(st.sampled_from(["", "line", "path", "less", "body", "bytes"]))
    if how == "line":
        line = draw(st.sampled_from(_ODD_LINES))
    elif how == "path":
        line = _other_path(draw, line)
    elif how == "body":
        body = cut(draw, body)
    fields = ["Host: x", *fields, *draw(st.lists(st.sampled_from(_FIELDS), max_size=2))]
    if how == "less":
        del fields[draw(st.integers(0, len(fields) - 1))]
    end = draw(st.sampled_from(["\r\n", "\r\n", "\r\n", "\n", "\r", "\r\n "]))
    head = end.join([f"{line} HTTP/1.1", *fields, "", ""])
    request = head.encode("utf-8", "surrogateescape") + body
    return cut(draw, request) if how == "bytes" else request

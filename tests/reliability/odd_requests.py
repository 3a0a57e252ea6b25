"""Requests of v1's two wire protocols, correct and changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from google.protobuf import text_format
from hypothesis import strategies as st

from tests.backends.odd_answers import changed_message, cut, message_bytes
from tests.gateway.bad_clients import chunk
from tests.gateway.grpc_requests import simple
from tritonclient_shim.protos import grpc_service_pb2 as pb


def _classes() -> Any:
    request = pb.InferRequest(model_name="classify", model_version=-1)
    request.meta_data.batch_size = 1
    request.meta_data.input.add(name="INPUT")
    request.meta_data.output.add(name="OUTPUT").cls.count = 2
    request.raw_input.append(np.arange(10, dtype=np.float32).tobytes())
    return request


def _strings() -> Any:
    request = pb.InferRequest(model_name="identity_string", model_version=1)
    request.meta_data.batch_size = 1
    request.meta_data.input.add(name="INPUT0", dims=[2])
    request.meta_data.output.add(name="OUTPUT0")
    request.raw_input.append(b"\1\0\0\0a\2\0\0\0bc")
    return request


def _region() -> Any:
    result = simple()
    result.meta_data.input[0].shared_memory.name = "fuzzed"
    result.meta_data.input[0].shared_memory.byte_size = 64
    del result.raw_input[0]
    return result


def _control(kind: str, **fields: Any) -> Any:
    request = pb.SharedMemoryControlRequest()
    part = getattr(request, kind)
    part.SetInParent()
    for name, value in fields.items():
        setattr(part, name, value)
    return request


def _register() -> Any:
    result = _control("register", name="fuzzed", byte_size=64)
    result.register.system_shared_memory.shared_memory_key = "/fuzzed_nowhere"
    return result


#: Messages of inference, which HTTP carries in a header and a body.
INFER = [simple(7), _classes(), _strings(), _region()]
#: Correct requests of each rpc.
REQUESTS: dict[str, list[Any]] = {
    "Infer": INFER,
    "StreamInfer": INFER,
    "Status": [pb.StatusRequest(), pb.StatusRequest(model_name="simple")],
    "Health": [pb.HealthRequest(mode="live"), pb.HealthRequest(mode="ready")],
    "Repository": [pb.RepositoryRequest(index=True)],
    "ModelControl": [pb.ModelControlRequest(model_name="unknown", type=1)],
    "SharedMemoryControl": [
        *(_register(), _control("unregister", name="fuzzed"), _control("status")),
        _control("unregister_all"),
    ],
}
_SHM = "/api/sharedmemorycontrol"
_PATHS = [
    *("GET /api/status", "GET /api/status/simple", "GET /api/health/live", "GET /api/health/ready"),
    *("GET /api/repository/index", "POST /api/modelcontrol/load/unknown", f"GET {_SHM}/status"),
    *(f"POST {_SHM}/register/fuzzed//nowhere/0/64", f"POST {_SHM}/unregister/fuzzed"),
    *(f"POST {_SHM}/unregisterall", f"POST {_SHM}/cudaregister/fuzzed/64/0"),
]
_FIELDS = [
    *(b"Content-Length: 0", b"Content-Length: 128", b"Content-Length: -1", b"Content-Length: +1"),
    *(b"Content-Length: 9999999999999999999999", b"Transfer-Encoding: chunked", b"Expect: x"),
    *(b"Transfer-Encoding: gzip", b"Content-Encoding: gzip", b"Content-Encoding: deflate"),
    *(b"Content-Encoding: br", b"Expect: 100-continue", b"Connection: close", b"Upgrade: h2c"),
    *(b"Connection: keep-alive, upgrade", b"Host:", b"Host: a, b", b": x", b"X", b"X : y", b" y"),
    *(b"X: \xff\xfe", b"X: " + b"y" * 9000, b"Accept: application/json", b"Accept: \x01"),
    *(b"Accept-Encoding: gzip", b"Range: bytes=0-1", b"Content-Type: multipart/form-data"),
    *(b"Content-Type: \xff", b"Cookie: a=b; =; c", b"NV-InferRequest:", b"NV-InferRequest: x {"),
    *(b"NV-InferRequest: batch_size: 1", b"NV-Status: x", b"Trailer: X", b"TE: trailers"),
    b"NV-InferRequest: " + b"a {" * 5000, b"Content-Range: x",
]  # fmt: skip
_LINES = [
    *(b"GET / HTTP/1.1", b"POST * HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"OPTIONS * HTTP/1.1"),
    *(b"PRI * HTTP/2.0", b"GET /api/status HTTP/1.0", b"GET /api/status HTTP/9.9", b"GET", b""),
    *(b"HEAD /api/status HTTP/1.1", b"GET  /api/status HTTP/1.1", b"get /api/status http/1.1"),
    *(b"TRACE /api/status HTTP/1.1", b"\xff \xff \xff", b"POST http://[ HTTP/1.1"),
    *(b"POST http://x:99999/api/status HTTP/1.1", b"GET //[x/api/status HTTP/1.1"),
]
_PARTS = [
    *("..", ".", "%2e%2e", "%00", "%", "%zz", "", "é", "\udcff", "x" * 9000, "?", "?a=b", "#x"),
    *("-1", "0", "1", "2", "99999999999999999999", "²"),
    *("1.0", "a b", "\t", ";", "simple", "[", "]"),
]


_CHANGES = ["add", "drop", "double", "line", "path", "cut", "body", "chunk"]


class Request(NamedTuple):
    """An HTTP request in parts that can be changed."""

    lines: list[bytes]
    body: bytes

    def bytes(self, end: bytes) -> bytes:
        """Return the request as bytes to send."""
        return end.join([*self.lines, b"", b""]) + self.body


def _right(draw: Any) -> Request:
    """Return a correct request, or one with a changed message."""
    if draw(st.booleans()):
        return Request([f"{draw(st.sampled_from(_PATHS))} HTTP/1.1".encode(), b"Host: x"], b"")
    message = draw(st.sampled_from(INFER))
    if draw(st.booleans()):
        message = changed_message(draw, message)
    header = text_format.MessageToString(message.meta_data, as_one_line=True)
    body = b"".join(message.raw_input)
    version = f"/{message.model_version}" if message.model_version > 0 else ""
    lines = [
        f"POST /api/infer/{message.model_name}{version} HTTP/1.1",
        *("Host: x", f"NV-InferRequest: {header}", f"Content-Length: {len(body)}"),
    ]
    return Request([line.encode("utf-8", "surrogateescape") for line in lines], body)


def _changed_path(draw: Any, line: bytes) -> bytes:
    method, _, rest = line.decode("utf-8", "surrogateescape").partition(" ")
    parts = rest.rpartition(" ")[0].split("/")
    place = draw(st.integers(0, len(parts) - 1))
    parts[place] = draw(st.sampled_from(_PARTS))
    return f"{method} {'/'.join(parts)} HTTP/1.1".encode("utf-8", "surrogateescape")


@st.composite
def http_requests(draw: Any) -> bytes:
    """Draw the bytes of a connection: a request, changed in its lines, its path or its body."""
    request = _right(draw)
    lines, body = list(request.lines), request.body
    for _ in range(draw(st.integers(0, 3))):
        how = draw(st.sampled_from(_CHANGES))
        place = draw(st.integers(0, max(len(lines) - 1, 0)))
        if how == "add":
            lines.insert(place + 1, draw(st.sampled_from(_FIELDS)))
        elif how == "line" or not lines:
            lines[:1] = [draw(st.sampled_from(_LINES))]
        elif how == "drop":
            del lines[place]
        elif how == "double":
            lines.append(lines[place])
        elif how == "path":
            lines[0] = _changed_path(draw, lines[0])
        elif how == "cut":
            lines[place] = cut(draw, lines[place])
        elif how == "body":
            body = cut(draw, body)
        else:
            lines = [line for line in lines if not line.startswith(b"Content-Length")]
            lines.append(b"Transfer-Encoding: chunked")
            body = cut(draw, chunk(body) + b"0\r\n\r\n")
    end = draw(st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r", b"\r\n "]))
    return Request(lines, body).bytes(end)


def rpc_requests(draw: Any, rpc: str) -> bytes:
    """Return a request of an rpc on the wire, changed."""
    return message_bytes(draw, draw(st.sampled_from(REQUESTS[rpc])))

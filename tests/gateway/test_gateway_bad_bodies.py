"""Bodies that are too large or unreadable: bounded memory, v1's errors, empty log."""

from __future__ import annotations

import gzip
import socket
import time
import zlib

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import Raw, chunk, head
from tests.gateway.gateway_process import Gateway, StartGateway, code_of, until
from tests.gateway.grpc_requests import BODY, SIMPLE

CHUNKED = "Transfer-Encoding: chunked"
GZIP = "Content-Encoding: gzip"
NO_CHUNK = b"0\r\n\r\n"
ONE_CHUNK = chunk(BODY) + NO_CHUNK
SECOND = head("Content-Length: 128") + BODY
SQUEEZED = gzip.compress(BODY)


def whole(encoding: str, body: bytes) -> bytes:
    """Return a request with an encoded body."""
    return head(f"Content-Length: {len(body)}", f"Content-Encoding: {encoding}") + body


GOOD = {
    "identity": whole("identity", BODY),
    "trailer": head(CHUNKED) + chunk(BODY) + b"0\r\nX-Trailer: 1\r\n\r\n",
    "chunk extension": head(CHUNKED) + b"80;name=value\r\n" + BODY + b"\r\n" + NO_CHUNK,
}


@pytest.mark.parametrize("name", GOOD)
def test_good_bodies(gateway: Gateway, name: str) -> None:
    """Chunked bodies, with trailers and extensions, are read."""
    assert Raw(gateway, GOOD[name]).answer().code == 200


#: The request, and a part of the message; empty without a message.
BAD = {
    "gzip": (whole("gzip", SQUEEZED), "'gzip' of the request body is not supported"),
    "deflate": (whole("deflate", zlib.compress(BODY)), "'deflate'"),
    "gzip without its end": (whole("gzip", SQUEEZED[:-20]), "'gzip'"),
    "gzip in chunks": (head(CHUNKED, GZIP) + chunk(SQUEEZED) + NO_CHUNK, "'gzip'"),
    "brotli": (whole("br", BODY), "'br'"),
    "x-gzip": (whole("x-gzip", SQUEEZED), "'x-gzip'"),
    "twice": (whole("gzip, gzip", BODY), "'gzip, gzip'"),
    "a long name": (whole("x" * 20_000, BODY), f"Content-Encoding '{'x' * 200}' of"),
    "chunk size": (head(CHUNKED) + b"xyz\r\n" + BODY, ""),
    # a proxy in front that reads these as one request would let a second request past it
    "two lengths and a request": (
        head("Content-Length: 0", f"Content-Length: {len(SECOND)}") + SECOND,
        "",
    ),
    "huge header": (head(header="x" * 2_000_000), ""),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), ""),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_body(gateway: Gateway, name: str) -> None:
    """Bytes that break HTTP, and encoded bodies, get 400 and v1's errors, without tracebacks."""
    request, message = BAD[name]
    client = Raw(gateway)
    client.push(request)
    answer = client.answer()
    assert answer.code == 400
    assert answer.headers["Server"] == "tritonclient-shim"
    if message:
        assert code_of(answer.status) == "INVALID_ARG" and message in answer.status.msg
    client.rest()
    assert "Traceback" not in gateway.log_text()


UNREADABLE = ["nonsense", 'input { name: "INPUT0" dims: x }', "{" * 20_000, "x" * 20_000]


@pytest.mark.parametrize("text", UNREADABLE, ids=["word", "value", "braces", "long word"])
def test_an_unreadable_header(gateway: Gateway, text: str) -> None:
    """The body of the 400 says where NV-InferRequest is wrong, in a few words."""
    answer = gateway.infer("simple", text, BODY)
    assert (answer.code, answer.status) == (400, None)
    assert answer.body.startswith(b"NV-InferRequest is not understood: 1:")
    assert len(answer.body) < 500


@pytest.mark.parametrize("target", ["http://[", "http://x:99999/api/status"])
def test_a_target_that_is_no_url(gateway: Gateway, target: str) -> None:
    """A target that aiohttp cannot read ends its own connection, without a traceback."""
    client = Raw(gateway, f"POST {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    client.socket.shutdown(socket.SHUT_WR)
    assert client.rest()[9:13] in (b"400 ", b"405 ", b"")
    assert gateway.infer("simple", SIMPLE, BODY).code == 200
    assert "Traceback" not in gateway.log_text()


@pytest.mark.parametrize(
    "sent",
    [
        head("Content-Length: 128") + BODY[:64],
        head(CHUNKED) + b"40\r\n" + BODY[:10],
        head("Content-Length: 128")[:-30],
    ],
    ids=["length", "chunked", "headers"],
)
def test_a_client_that_leaves(
    behind: TritonServer, start_gateway: StartGateway, sent: bytes
) -> None:
    """A client that leaves in the middle of a request is at most a line of the access log."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--access-log")
    Raw(gateway, sent).close()
    assert gateway.infer("simple", SIMPLE, BODY).code == 200
    until(lambda: '"SUCCESS"' in gateway.log_text())
    lines = gateway.log_text().splitlines()
    assert len(lines) <= 2 and all("POST /api/infer/simple" in line for line in lines)


def test_large_heads_do_not_stop_other_requests(gateway: Gateway) -> None:
    """A health request is answered while large heads are being parsed, on one thread."""
    large = " ".join(f'output {{ name: "O{number}" cls {{ count: 1 }} }}' for number in range(6000))
    request = head("Content-Length: 0", header=large)
    threads = gateway.figure("Threads")
    clients = [Raw(gateway, request) for _ in range(15)]
    start = time.monotonic()
    assert gateway.get("/api/health/live").code == 200
    healthy = time.monotonic() - start
    assert gateway.figure("Threads") <= threads + 5  # each of fifteen would hold Python's lock
    for client in clients:
        assert client.answer().code == 400
        client.close()
    assert healthy < (time.monotonic() - start) / 3


def test_a_bomb_is_not_inflated(gateway: Gateway) -> None:
    """A compressed body of 100 MB is refused without more memory."""
    request = whole("gzip", gzip.compress(bytes(100_000_000)))
    before = gateway.figure("VmHWM")
    for _ in range(10):
        assert Raw(gateway, request).answer().code == 400
    assert (gateway.figure("VmHWM") - before) * 1024 < 20_000_000

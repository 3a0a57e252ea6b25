"""Bodies that are too large or unreadable: bounded memory, v1's errors, empty log."""

from __future__ import annotations

import gzip
import socket
import zlib
from typing import Any

import aiohttp
import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import Raw, chunk, head
from tests.gateway.gateway_process import Gateway, StartGateway, code_of, until
from tests.gateway.grpc_requests import BODY, SIMPLE

LIMIT = 8_000_000
CHUNKED = "Transfer-Encoding: chunked"
GZIP = "Content-Encoding: gzip"
NO_CHUNK = b"0\r\n\r\n"
ONE_CHUNK = chunk(BODY) + NO_CHUNK
SECOND = head("Content-Length: 128") + BODY
SQUEEZED = gzip.compress(BODY)


def deflate(data: bytes, bits: int = 15) -> bytes:
    """Compress by zlib, with or without its header."""
    squeezing = zlib.compressobj(wbits=bits)
    return squeezing.compress(data) + squeezing.flush()


def whole(encoding: str, body: bytes) -> bytes:
    """Return a request with an encoded body."""
    return head(f"Content-Length: {len(body)}", f"Content-Encoding: {encoding}") + body


#: aiohttp 3.10, the last for Python 3.8, decompresses each piece that arrives as a whole.
BOUNDED = tuple(map(int, aiohttp.__version__.split(".")[:3])) >= (3, 13, 3)


@pytest.mark.skipif(not BOUNDED, reason="this aiohttp decompresses without a limit")
@pytest.mark.parametrize(("encoding", "squeeze"), [("gzip", gzip.compress), ("deflate", deflate)])
def test_a_bomb_stops_at_the_limit(
    behind: TritonServer, start_gateway: StartGateway, encoding: str, squeeze: Any
) -> None:
    """A body that would become 100 MB is refused at --max-body-bytes, with v1's error."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-body-bytes", str(LIMIT))
    assert gateway.infer("simple", SIMPLE, BODY).code == 200
    before = gateway.figure("VmHWM")
    answer = Raw(gateway, whole(encoding, squeeze(bytes(100_000_000)))).answer()
    assert (answer.code, code_of(answer.status)) == (400, "INVALID_ARG")
    # aiohttp 3.13, the last for Python 3.9, has a limit of its own, 32 MB
    own = "the configured limit of 33554432 bytes" in answer.status.msg
    assert own or "--max-body-bytes" in answer.status.msg
    assert (gateway.figure("VmHWM") - before) * 1024 < 5 * (32_000_000 if own else LIMIT)


GOOD = {
    "gzip": whole("gzip", SQUEEZED),
    "zlib": whole("deflate", deflate(BODY)),
    "raw deflate": whole("deflate", deflate(BODY, -15)),
    "gzip in chunks": head(CHUNKED, GZIP)
    + b"".join(chunk(bytes([byte])) for byte in SQUEEZED)
    + NO_CHUNK,
    "trailer": head(CHUNKED) + chunk(BODY) + b"0\r\nX-Trailer: 1\r\n\r\n",
    "chunk extension": head(CHUNKED) + b"80;name=value\r\n" + BODY + b"\r\n" + NO_CHUNK,
}


@pytest.mark.parametrize("name", GOOD)
def test_good_bodies(gateway: Gateway, name: str) -> None:
    """Encoded and chunked bodies, with trailers and extensions, are read."""
    assert Raw(gateway, GOOD[name]).answer().code == 200


_UNREADABLE = "the request body is not understood"
#: The request, and a part of the message; empty without a message.
BAD = {
    "gzip": (whole("gzip", b"x" * 100), _UNREADABLE),
    "deflate": (whole("deflate", b"\xff" * 100), _UNREADABLE),
    "end of gzip": (
        head(f"Content-Length: {len(SQUEEZED) - 20}", GZIP, "Connection: close") + SQUEEZED[:-20],
        "unexpected size for input",
    ),
    "brotli": (whole("br", BODY), "'br'"),
    "x-gzip": (whole("x-gzip", SQUEEZED), "'x-gzip'"),
    "twice": (whole("gzip, gzip", BODY), "'gzip, gzip'"),
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
    """Bytes that break HTTP or its encoding get 400, and are not logged."""
    request, message = BAD[name]
    log = gateway.log_text()
    client = Raw(gateway)
    client.push(request)
    answer = client.answer()
    assert answer.code == 400
    if message:
        assert code_of(answer.status) == "INVALID_ARG" and message in answer.status.msg
    client.rest()
    assert gateway.log_text() == log


@pytest.mark.parametrize("target", ["http://[", "http://x:99999/api/status"])
def test_a_target_that_is_no_url(gateway: Gateway, target: str) -> None:
    """A target that aiohttp cannot read ends its own connection, and is not logged."""
    log = gateway.log_text()
    client = Raw(gateway, f"POST {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    client.socket.shutdown(socket.SHUT_WR)
    assert client.rest()[9:13] in (b"400 ", b"405 ", b"")
    assert gateway.infer("simple", SIMPLE, BODY).code == 200
    assert gateway.log_text() == log


@pytest.mark.parametrize(
    "sent",
    [
        head("Content-Length: 128") + BODY[:64],
        head(CHUNKED) + b"40\r\n" + BODY[:10],
        whole("gzip", SQUEEZED)[:-4],
        head("Content-Length: 128")[:-30],
    ],
    ids=["length", "chunked", "gzip", "headers"],
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

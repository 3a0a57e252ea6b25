"""Bodies that are too much or no bodies at all: bounded memory, v1's errors, nothing logged."""

from __future__ import annotations

import gzip
import time
import zlib

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, Raw, chunk, head, highest, until, zeros
from tests.gateway.gateway_process import Gateway, StartGateway, code_of

pytest_plugins = ["tests.gateway.gateway_fixtures"]

MANY = 40
LIMIT = 8_000_000
CHUNKED = "Transfer-Encoding: chunked"
GZIP = "Content-Encoding: gzip"
NO_CHUNK = b"0\r\n\r\n"
ONE_CHUNK = chunk(BODY) + NO_CHUNK
SECOND = head("Content-Length: 128") + BODY
SQUEEZED = gzip.compress(BODY)


def deflate(data: bytes, bits: int) -> bytes:
    """Compressed by zlib, with or without its header."""
    squeezing = zlib.compressobj(wbits=bits)
    return squeezing.compress(data) + squeezing.flush()


def whole(encoding: str, body: bytes) -> bytes:
    """A request with an encoded body."""
    return head(f"Content-Length: {len(body)}", f"Content-Encoding: {encoding}") + body


def test_a_refused_body_is_sent_all_the_same(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """A client that sends all of a body that was refused gets one answer, and can read it."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-body-bytes", "1000")
    client = Raw(gateway, head("Content-Length: 20000000") + bytes(20_000_000))
    answer = client.answer()
    assert answer.code == 400 and "--max-body-bytes" in answer.status.msg
    assert client.rest() == b""


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_stops_at_the_limit(
    behind: TritonServer, start_gateway: StartGateway, encoding: str
) -> None:
    """A body that would become 100 MB is refused at --max-body-bytes, with v1's error."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-body-bytes", str(LIMIT))
    assert gateway.infer("simple", SIMPLE, BODY).code == 200
    before = highest(gateway)
    body = zeros(100_000_000) if encoding == "gzip" else deflate(bytes(100_000_000), 15)
    answer = Raw(gateway, whole(encoding, body)).answer()
    assert (answer.code, code_of(answer.status)) == (400, "INVALID_ARG")
    assert "--max-body-bytes" in answer.status.msg
    assert highest(gateway) - before < 5 * LIMIT


@pytest.mark.parametrize(
    "request_",
    [
        whole("gzip", SQUEEZED),
        whole("deflate", deflate(BODY, 15)),
        whole("deflate", deflate(BODY, -15)),
        whole("identity", BODY),
        head(CHUNKED, GZIP) + b"".join(chunk(bytes([one])) for one in SQUEEZED) + b"0\r\n\r\n",
        head(CHUNKED) + chunk(BODY) + b"0\r\nX-Trailer: 1\r\n\r\n",
        head(CHUNKED) + b"80;name=value\r\n" + BODY + b"\r\n0\r\n\r\n",
    ],
    ids=[
        "gzip",
        "zlib",
        "raw deflate",
        "identity",
        "gzip in chunks",
        "trailer",
        "chunk extension",
    ],
)
def test_good_bodies(gateway: Gateway, request_: bytes) -> None:
    """Every form in which HTTP lets a body come is understood."""
    assert Raw(gateway, request_).answer().code == 200


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (whole("gzip", b"x" * 100), "the request body is not understood"),
        (whole("gzip", SQUEEZED + b"garbage"), ""),
        (whole("deflate", b"\xff" * 100), "the request body is not understood"),
        (whole("deflate", deflate(BODY, 15)[:-5]), ""),
        (whole("br", BODY), "'br'"),
        (whole("gzip, gzip", BODY), "'gzip, gzip'"),
        (head(CHUNKED) + b"xyz\r\n" + BODY, ""),
        (head(CHUNKED) + b"-5\r\n" + BODY, ""),
        (head(CHUNKED) + b"10\r\n" + BODY, ""),
        (head(CHUNKED) + b"f" * 40 + b"\r\n", ""),
        (head("Content-Length: many") + BODY, ""),
        (head("Content-Length: -1") + BODY, ""),
        (head("Content-Length: 128", "Content-Length: 12") + BODY, ""),
        (head("Content-Length: 128", CHUNKED) + ONE_CHUNK, ""),
        # a proxy in front that reads these as one request would let a second one past it
        (head("Content-Length: 0", f"Content-Length: {len(SECOND)}") + SECOND, ""),
        (head("Transfer-Encoding : chunked") + NO_CHUNK + SECOND, ""),
        (head("Transfer-Encoding: xchunked") + NO_CHUNK + SECOND, ""),
        (head("Transfer-Encoding: chunked, identity") + NO_CHUNK + SECOND, ""),
        (head("X: a", f" Content-Length: {len(SECOND)}") + SECOND, ""),
        (head(CHUNKED) + b"0;a\nb\r\n\r\n" + SECOND, ""),
        (head("no colon here") + BODY, ""),
        (head(header="x" * 2_000_000), ""),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), ""),
    ],
    ids=[
        "gzip",
        "gzip and more",
        "deflate",
        "short deflate",
        "brotli",
        "twice",
        "chunk size",
        "negative chunk",
        "chunk end",
        "huge chunk",
        "length",
        "negative length",
        "two lengths",
        "length and chunks",
        "two lengths and a request",
        "space before the colon",
        "unknown coding",
        "chunked not last",
        "folded line",
        "line feed in a chunk",
        "field",
        "huge header",
        "TLS",
    ],
)
def test_what_is_no_body(gateway: Gateway, request_: bytes, message: str) -> None:
    """What breaks HTTP or its encoding is the client's error, and is not logged."""
    said = gateway.said()
    client = Raw(gateway)
    client.push(request_)
    answer = client.answer()
    assert answer.code == 400
    if message:
        assert code_of(answer.status) == "INVALID_ARG" and message in answer.status.msg
    client.rest()
    assert gateway.said() == said


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
    quiet = start_gateway("--triton-grpc", behind.grpc)
    loud = start_gateway("--triton-grpc", behind.grpc, "--access-log")
    for gateway in (quiet, loud):
        client = Raw(gateway, sent)
        time.sleep(0.2)
        client.close()
        assert gateway.infer("simple", SIMPLE, BODY).code == 200
    until(lambda: "simple SUCCESS" in loud.said())
    assert quiet.said() == ""
    lines = loud.said().splitlines()
    assert len(lines) <= 2 and all("http POST /api/infer/simple " in line for line in lines)

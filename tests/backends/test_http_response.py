"""HTTP answers, read from a stream."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pytest
from scripted_server import ScriptedServer, http

from tritonclient_shim.backends.http import open_backend
from tritonclient_shim.backends.http.response import SMALL, read_reply
from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.core.model import Endpoint

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BODY = b'{"name": "triton", "version": "2.51.0"}'


def stream_of(answer: bytes) -> Any:
    """What a socket that brings the answer is read through."""
    return io.BufferedReader(io.BytesIO(answer))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "body", "kept"),
    [
        (HEAD + b"Content-Length: 2\r\n\r\nab", b"ab", True),
        (HEAD + b"content-length:2\r\nConnection: close\r\n\r\nab", b"ab", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", b"ab", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", b"", True),
        (HEAD + b"\r\nuntil the end", b"until the end", False),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            b"abc",
            True,
        ),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: y\r\n\r\n", b"", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 1\r\n\r\na", b"a", True),
        (b"HTTP/1.1 200\nContent-Length: 1\n\na", b"a", True),
        (HEAD + b"Content-Length: %d\r\n\r\n" % SMALL + b"x" * SMALL, b"x" * SMALL, True),
    ],
)
def test_body_and_persistence(answer: bytes, body: bytes, kept: bool) -> None:
    """The body in each of its forms, and whether another request may follow (RFC 9112)."""
    reply, keep = read_reply(stream_of(answer))
    assert bytes(reply.body) == body
    assert keep is kept


def test_nothing_beyond_the_answer_is_read() -> None:
    """The next answer on the connection stays there."""
    stream = stream_of((HEAD + b"Content-Length: 1\r\n\r\na") * 2)
    read_reply(stream)
    assert bytes(read_reply(stream)[0].body) == b"a"


def test_header_names_have_no_case() -> None:
    """Headers are found by lower-case names."""
    reply, _ = read_reply(stream_of(HEAD + b"X-ABC:  d:e \r\nContent-Length: 0\r\n\r\n"))
    assert reply.headers["x-abc"] == "d:e"


def test_compressed_answer() -> None:
    """Who asks for compressed answers by a header of his own gets the same result."""
    answer = http(200, gzip.compress(BODY), "Content-Encoding: gzip")
    with ScriptedServer(lambda request: answer) as server:
        backend = open_backend(Endpoint("http", server.address), [("Accept-Encoding", "gzip")])
        assert backend.server_metadata().version == "2.51.0"
        assert b"Accept-Encoding: gzip" in server.requests[0]
        backend.close()


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: +1\r\n\r\na",
        HEAD + b"Content-Length: \xb2\r\n\r\n",
        HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
        HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        CHUNKED + b"-5\r\nhello",
        CHUNKED + b"0x1\r\na\r\n0\r\n\r\n",
        CHUNKED + b"\r\n",
        CHUNKED + b"1_0\r\n",
        CHUNKED + b"F" * 40 + b"\r\n",
    ],
    ids=lambda answer: repr(answer[:60]),
)
def test_sizes_that_cannot_be(answer: bytes) -> None:
    """A size that is no number, or none of this world, ends the exchange (RFC 9112)."""
    with pytest.raises(TransportFault, match="Failure when receiving data from the peer"):
        read_reply(stream_of(answer))


def test_an_answer_that_is_no_http_is_not_waited_for() -> None:
    """Bytes of another protocol end the exchange, also where no line of theirs ever ends."""
    with ScriptedServer(lambda request: b"\x00\x00\x12\x04 binary") as server:
        backend = open_backend(Endpoint("http", server.address))
        with pytest.raises(TransportFault, match="Unsupported protocol|HTTP client failed"):
            backend.server_metadata()
        backend.close()

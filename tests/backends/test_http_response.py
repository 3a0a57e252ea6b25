"""HTTP replies, read from a stream."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.backends.scripted_server import ScriptedServer
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.http.response import SMALL, read_reply
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import Endpoint

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def stream_of(answer: bytes) -> Any:
    """Return a stream like that of a socket with this reply."""
    return io.BufferedReader(io.BytesIO(answer))


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
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", b"", False),
        (HEAD + b"Content-Length: %d\r\n\r\n" % SMALL + b"x" * SMALL, b"x" * SMALL, True),
    ],
)
def test_body_and_persistence(answer: bytes, body: bytes, kept: bool) -> None:
    """A body is read in each form, with its effect on the connection's reuse (RFC 9112)."""
    reply, keep = read_reply(stream_of(answer))
    assert bytes(reply.body) == body
    assert keep is kept


def test_nothing_beyond_the_answer_is_read() -> None:
    """The next reply on the connection stays unread."""
    stream = stream_of((HEAD + b"Content-Length: 1\r\n\r\na") * 2)
    read_reply(stream)
    assert bytes(read_reply(stream)[0].body) == b"a"


def test_header_names_have_no_case() -> None:
    """Headers are found by lower-case names."""
    reply, _ = read_reply(stream_of(HEAD + b"X-ABC:  d:e \r\nContent-Length: 0\r\n\r\n"))
    assert reply.headers["x-abc"] == "d:e"


HEADS = [
    (HEAD + b"Content-Length: -1\r\n\r\n", "Weird server reply"),
    (HEAD + b"Content-Length: \xb2\r\n\r\n", "Weird server reply"),
    (HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", "Weird server reply"),
    (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", "Weird server reply"),
    (HEAD + b"Content-Length: 2\r\nX: a\0b\r\n\r\nab", "Weird server reply"),
    (HEAD + b"X: a\rContent-Length: 2\r\n\r\nab", "Weird server reply"),
    (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "Weird server reply"),
    (HEAD + b"nonsense\r\nContent-Length: 2\r\n\r\nab", "Weird server reply"),
    (HEAD + b"Content-Length: 2\r\n", "Transferred a partial file"),
    (HEAD + b"Content-Length: 2\r\n\r\na", "Transferred a partial file"),
    (CHUNKED + b"\r\n", "Failure when receiving data from the peer"),
    (CHUNKED + b"x\r\n", "Failure when receiving data from the peer"),
    (CHUNKED + b"-5\r\nhello", "Failure when receiving data from the peer"),
    (CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n", "Failure when receiving data from the peer"),
    (CHUNKED + b"1_0\r\n", "Failure when receiving data from the peer"),
    (CHUNKED + b"1\r\nabc\r\n0\r\n\r\n", "Failure when receiving data from the peer"),
    (CHUNKED + b"0\r\n" + b"X: a\r\n" * 100_000, "Failure when receiving data from the peer"),
    (CHUNKED + b"5\r\nab", "Transferred a partial file"),
    (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, "Weird server reply"),
    (b"HTTP/9 200 OK\r\n\r\n", "Unsupported protocol"),
]


@pytest.mark.parametrize(("answer", "text"), HEADS, ids=lambda value: repr(value[:60]))
def test_replies_that_cannot_be_read(answer: bytes, text: str) -> None:
    """A reply without a clear end is an error, with libcurl's text."""
    with pytest.raises(TransportError) as caught:
        read_reply(stream_of(answer))
    assert caught.value.message == f"HTTP client failed: {text}"


def test_an_answer_that_is_no_http_is_not_waited_for() -> None:
    """Bytes of another protocol end the exchange, also without any line end."""
    with ScriptedServer(lambda request: b"\x00\x00\x12\x04 binary") as server:
        backend = open_backend(Endpoint("http", server.address))
        with pytest.raises(TransportError, match="Unsupported protocol|HTTP client failed"):
            backend.server_metadata()
        backend.close()

"""HTTP replies, read from a stream."""

from __future__ import annotations

import io
from typing import Any

import pytest

from tests.backends.scripted_server import ScriptedServer
from tritonclient_shim.backends.http import open_backend
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


WEIRD = "Weird server reply"
RECEIVING = "Failure when receiving data from the peer"
CODING = "Unrecognized or bad HTTP Content or Transfer-Encoding"
TWO = HEAD + b"Content-Length: 2\r\n"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (HEAD + b"Content-Length: -1\r\n\r\n", WEIRD),
        (HEAD + b"Content-Length: +1\r\n\r\na", WEIRD),
        (HEAD + b"Content-Length:\r\n\r\n", WEIRD),
        (HEAD + b"Content-Length: \xb2\r\n\r\n", WEIRD),
        (HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n", WEIRD),
        (HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", WEIRD),
        (TWO + b"Content-Length: 3\r\n\r\nabc", WEIRD),
        (HEAD + b"Content-Length: 2, 3\r\n\r\nabc", WEIRD),
        (CHUNKED + b"-5\r\nhello", RECEIVING),
        (CHUNKED + b"0x1\r\na\r\n0\r\n\r\n", RECEIVING),
        (CHUNKED + b"\r\n", RECEIVING),
        (CHUNKED + b"1_0\r\n", RECEIVING),
        (CHUNKED + b"F" * 40 + b"\r\n", RECEIVING),
        (CHUNKED + b"1\r\nabc\r\n0\r\n\r\n", RECEIVING),
        (CHUNKED + b"1\r\na0\r\n\r\n", RECEIVING),
        (HEAD + b"Transfer-Encoding: br\r\n\r\nab", CODING),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", CODING),
        (HEAD + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", CODING),
    ],
    ids=lambda value: repr(value[:60]),
)
def test_lengths_that_cannot_be(answer: bytes, text: str) -> None:
    """A body of unknown length ends the exchange, with libcurl's text (RFC 9112)."""
    with pytest.raises(TransportError) as caught:
        read_reply(stream_of(answer))
    assert caught.value.message == f"HTTP client failed: {text}"


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"X: folded\r\n \tvalue",
        b": no name",
        b"Content-Length : 9",
        b"X Y: z",
        b"X: a\0b",
        b"X: a\rY: b",
        b"X\0: a",
    ],
    ids=repr,
)
def test_lines_that_are_no_header(line: bytes) -> None:
    """An ambiguous line is refused, as by libcurl."""
    with pytest.raises(TransportError, match=WEIRD):
        read_reply(stream_of(TWO + line + b"\r\n\r\nab"))


@pytest.mark.parametrize(
    "head",
    [
        TWO + b"Content-Length: 2\r\n\r\n",
        HEAD + b"Content-Length: 2, 2\r\n\r\n",
    ],
    ids=["twice the same", "in one line"],
)
def test_odd_heads_that_are_clear(head: bytes) -> None:
    """Harmless header changes by proxies are read (RFC 9112, 5.2 and 6.3)."""
    reply, keep = read_reply(stream_of(head + b"ab"))
    assert (bytes(reply.body), keep) == (b"ab", True)


def test_a_length_beside_chunks() -> None:
    """Chunks decide about the length, and the connection is not reused (RFC 9112, 6.3)."""
    answer = TWO + b"Transfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    reply, keep = read_reply(stream_of(answer))
    assert (bytes(reply.body), keep) == (b"abc", False)


def test_another_protocol_that_nobody_asked_for() -> None:
    """101 is an ordinary reply, and the last on its connection, as in v1."""
    answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n"
    reply, keep = read_reply(stream_of(answer))
    assert (reply.status, bytes(reply.body), keep) == (101, b"", False)


def test_an_answer_that_is_announced_for_ever() -> None:
    """A server that sends only 100 Continue is given up."""
    with pytest.raises(TransportError, match=WEIRD):
        read_reply(stream_of(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000))


def test_an_answer_that_is_no_http_is_not_waited_for() -> None:
    """Bytes of another protocol end the exchange, also without any line end."""
    with ScriptedServer(lambda request: b"\x00\x00\x12\x04 binary") as server:
        backend = open_backend(Endpoint("http", server.address))
        with pytest.raises(TransportError, match="Unsupported protocol|HTTP client failed"):
            backend.server_metadata()
        backend.close()

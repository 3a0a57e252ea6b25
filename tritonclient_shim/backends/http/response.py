"""Read one HTTP/1.x reply: status, headers, and a body in the one buffer that the kernel wrote to.

``http.client`` parses heads. That takes longer than all the rest of a small request, so equal heads
are parsed once (docs/costs.md, "Other HTTP clients").
"""

from __future__ import annotations

import re
from http.client import (
    BadStatusLine,
    HTTPException,
    HTTPResponse,
    IncompleteRead,
    LineTooLong,
    RemoteDisconnected,
)
from io import BytesIO
from typing import Any, BinaryIO, Mapping, NamedTuple

import numpy as np

from tritonclient_shim.backends.http.errors import ANSWER, BODY, WeirdReply
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.core.reading import remembered

_PROTOCOL = b"HTTP/"
#: A head that announces another one. 101 is an answer, after which another protocol begins.
_INTERIM = re.compile(rb"HTTP/1\.[0-9] 1(?!01)")
_MAX_INTERIM = 100
#: What readers of header lines take in different ways.
_UNCLEAR = re.compile(rb"\0|\r[^\n]")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_MAX_HEAD = 1 << 18  # bytes
SMALL = 1 << 16  # bytes; a body from here on is worth a buffer of its own


class Reply(NamedTuple):
    """An answer with its complete body; ``headers`` as in :class:`Head`."""

    status: int
    headers: Mapping[str, str]
    body: Buffer


class Head(NamedTuple):
    """``headers``: lower-case name → value; of several lines the last."""

    status: int
    headers: dict[str, str]
    kept_open: bool  # may another request follow, once the body has been read?
    length: int | None  # of the body in bytes; None: in chunks, or until the connection ends
    chunked: bool


def read_reply(stream: Any) -> tuple[Reply, bool]:
    """Return the next answer; also whether another request may follow on the connection."""
    try:
        head = read_head(stream)
    except ANSWER.exceptions as failure:
        raise ANSWER.error_of(failure) from failure
    try:
        if head.length is not None:
            body = _exactly(stream, head.length)
        else:
            body = _chunks(stream) if head.chunked else stream.read()
    except BODY.exceptions as failure:
        raise BODY.error_of(failure) from failure
    return Reply(head.status, head.headers, body), head.kept_open


def read_head(stream: Any) -> Head:
    """Return the next head of a buffered stream.

    Raises HTTPException and its kinds, and what reading the stream raises.
    """
    for _ in range(_MAX_INTERIM):
        content = _head_bytes(stream)
        if not _INTERIM.match(content):
            return _head(content)
    raise WeirdReply(f"more than {_MAX_INTERIM} answers that announce another one")


def _head_bytes(stream: Any) -> bytes:
    received: bytes = stream.peek(1)
    start = received[: len(_PROTOCOL)]
    if not _PROTOCOL.startswith(start):  # a line of another protocol may never end
        raise BadStatusLine(repr(start))
    end = received.find(b"\n\r\n") + 3
    if end >= 3 and received.find(b"\n\n", 0, end) < 0:
        return bytes(stream.read(end))
    return _lines(stream)


def _lines(stream: BinaryIO) -> bytes:
    """Return the lines up to the first empty one."""
    content = b""
    while len(content) < _MAX_HEAD:
        line = stream.readline(_MAX_HEAD)
        content += line
        if line in (b"\r\n", b"\n"):
            return content
        if not line.endswith(b"\n"):
            raise IncompleteRead(content) if content else RemoteDisconnected("no answer")
    raise LineTooLong("head")


class _Received(NamedTuple):
    """A head in the place of the socket that ``HTTPResponse`` reads from."""

    content: bytes

    def makefile(self, _: str) -> BinaryIO:
        """Return a stream of the head."""
        return BytesIO(self.content)


@remembered
def _head(content: bytes) -> Head:
    response = HTTPResponse(_Received(content))  # type: ignore[arg-type]
    response.begin()
    lengths = {length.strip() for length in response.headers.get_all("Content-Length", ())}
    codings = {coding.lower() for coding in response.headers.get_all("Transfer-Encoding", ())}
    unclear = _UNCLEAR.search(content) or response.headers.defects or codings - {"chunked"}
    if unclear or len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise WeirdReply(f"these are no clear headers: {content[:300]!r}")
    headers = {name.lower(): value.strip() for name, value in response.headers.items()}
    # a length beside chunks: somebody on the way may have believed the other one
    is_unsafe = response.status == 101 or response.chunked and lengths
    kept_open = not (response.will_close or is_unsafe)
    return Head(response.status, headers, kept_open, response.length, bool(response.chunked))


def _exactly(stream: BinaryIO, length: int) -> Buffer:
    if length >= SMALL:
        return _large(stream, length)
    content = stream.read(length)
    if len(content) < length:
        raise IncompleteRead(content, length - len(content))
    return content


def _large(stream: BinaryIO, length: int) -> memoryview:
    view: memoryview = np.empty(length, np.uint8).data
    filled = 0
    while filled < length:
        received = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not received:
            raise IncompleteRead(bytes(view[:filled]), length - filled)
        filled += received
    return view


def _chunks(stream: BinaryIO) -> bytes:
    parts: list[Buffer] = []
    while True:
        line = stream.readline(_MAX_HEAD)
        match = _CHUNK.fullmatch(line)
        if match is None:
            raise HTTPException(f"a chunk begins with {line[:80]!r}")
        size = int(match[1], 16)
        if size == 0:
            _lines(stream)  # trailers: none matters here
            return b"".join(parts)
        parts.append(_exactly(stream, size))
        if stream.readline(_MAX_HEAD) not in (b"\r\n", b"\n"):
            raise HTTPException("a chunk is longer than it says")

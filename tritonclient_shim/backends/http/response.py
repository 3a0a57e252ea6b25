"""Read one HTTP/1.x answer from a stream.

``http.client`` parses header lines with the e-mail package, which takes longer than all the rest
of a small exchange; its exceptions are used here. The body comes in the one buffer that the
kernel wrote to.
"""

from __future__ import annotations

import re
from functools import lru_cache
from http.client import (
    BadStatusLine,
    HTTPException,
    IncompleteRead,
    LineTooLong,
    RemoteDisconnected,
)
from io import BytesIO
from typing import Any, BinaryIO, Mapping, NamedTuple

import numpy as np

from tritonclient_shim.backends import reply_checks
from tritonclient_shim.backends.http.errors import ANSWER, BODY
from tritonclient_shim.core.model import Buffer

SMALL = 1 << 16  # bytes; a body from here on is worth a buffer of its own
_MAX_LINE = 1 << 16
_MAX_HEADERS = 256
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) +([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_PROTOCOL = b"HTTP/"
_NO_BODY = frozenset((204, 304))


class Reply(NamedTuple):
    """An answer with its complete body. ``headers``: lower-case name → value, the last wins."""

    status: int
    headers: Mapping[str, str]
    body: Buffer


class _Head(NamedTuple):
    status: int
    headers: dict[str, str]
    persistent: bool  # the protocol's default; the Connection header may say otherwise


def read_reply(stream: Any, head_only: bool = False) -> tuple[Reply, bool]:
    """The next answer; also whether another request may follow on the connection.

    ``head_only``: nothing after the head is read, as after CONNECT.
    """
    with ANSWER:
        # a tunnel's stream is not buffered
        head = _head(stream) if head_only else _buffered_head(stream)
        while head.status < 200:  # 100 Continue and the like announce the real one
            head = _head(stream)
    if head_only:
        return Reply(head.status, head.headers, b""), False
    with BODY:
        body, delimited = _body(stream, head)
    return Reply(head.status, head.headers, body), delimited and _kept_open(head)


def _buffered_head(stream: Any) -> _Head:
    """The head of the next answer, from memory if an equal one has come before.

    BadStatusLine for an answer of which the first line may never end.
    """
    received = stream.peek(1)
    start = received[: len(_PROTOCOL)]
    if not _PROTOCOL.startswith(start):
        raise BadStatusLine(repr(start))
    end = received.find(b"\n\r\n") + 3
    if 3 <= end <= reply_checks.REMEMBERED_BYTES and received.find(b"\n\n", 0, end) < 0:
        return _known_head(stream.read(end))
    return _head(stream)


@lru_cache(maxsize=256)
def _known_head(content: bytes) -> _Head:
    return _head(BytesIO(content))


def _head(stream: BinaryIO) -> _Head:
    line = _line(stream)
    if not line:
        raise RemoteDisconnected("the server closed the connection without an answer")
    found = _STATUS_LINE.fullmatch(line)
    if found is None:
        raise BadStatusLine(repr(line[:80]))
    return _Head(int(found[2]), _headers(stream), found[1] != b"0")


def _headers(stream: BinaryIO) -> dict[str, str]:
    headers: dict[str, str] = {}
    for _ in range(_MAX_HEADERS):
        line = _line(stream)
        if line in (b"\r\n", b"\n"):
            return headers
        if not line.endswith(b"\n"):
            raise IncompleteRead(line)
        name, _colon, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    raise HTTPException(f"more than {_MAX_HEADERS} headers")


def _line(stream: BinaryIO) -> bytes:
    line = stream.readline(_MAX_LINE)
    if len(line) == _MAX_LINE:
        raise LineTooLong("header line")
    return line


def _kept_open(head: _Head) -> bool:
    wish = head.headers.get("connection")
    return head.persistent if wish is None else wish.lower() == "keep-alive"


def _body(stream: BinaryIO, head: _Head) -> tuple[Buffer, bool]:
    """The body, and whether the message itself says where it ends."""
    if head.status in _NO_BODY:
        return b"", True
    if head.headers.get("transfer-encoding", "identity").lower() != "identity":
        return _chunked(stream), True
    length = head.headers.get("content-length")
    if length is None:
        return stream.read(), False
    if _LENGTH.fullmatch(length) is None:
        raise HTTPException(f"Content-Length is {length!r}")
    return _exactly(stream, int(length)), True


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


def _chunked(stream: BinaryIO) -> bytes:
    parts = []
    while True:
        size = _chunk_size(_line(stream))
        if size == 0:
            break
        parts.append(_exactly(stream, size))
        _line(stream)  # the end of the chunk's own line
    _headers(stream)  # trailers: none matters here
    return b"".join(parts)


def _chunk_size(line: bytes) -> int:
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise HTTPException(f"a chunk begins with {line[:80]!r}")
    return int(found[1], 16)

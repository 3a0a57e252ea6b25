"""Read one HTTP/1.x reply: status, headers, and a body in the one buffer that the kernel wrote to.

``http.client`` parses header lines with the e-mail package, which takes longer than all the rest
of a small request; its exceptions are used here. As strict as RFC 9112 and today's libcurl: what
two readers could take for different replies is refused (docs/costs.md, "Other HTTP clients").
"""

from __future__ import annotations

import re
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

from tritonclient_shim.backends.http.errors import ANSWER, BODY, UnknownCoding, WeirdReply
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.core.reading import remembered

_MAX_LINE = 1 << 16
_MAX_HEADERS = 256
_MAX_INTERIM = 100  # answers like "100 Continue" that announce the real one
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) +([1-9][0-9]{2})(?: [^\r\n]*)?\r?\n")
_HEADER = re.compile(r"([^\x00-\x20:\x7f]+):([^\x00\r]*)\r?\n")
_LENGTH = re.compile(r"[0-9]{1,18}")
SMALL = 1 << 16  # bytes; a body from here on is worth a buffer of its own
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_PROTOCOL = b"HTTP/"
#: Headers whose lines all count, as if their values stood in one line.
_LISTS = frozenset(("content-length", "transfer-encoding"))
#: 101: a protocol that nobody asked for; the answer is over, and the connection is another's.
_SWITCHED = 101
_NO_BODY = frozenset((_SWITCHED, 204, 304))


class Head(NamedTuple):
    """``headers``: lower-case name → value; of several lines the last, of lists all in one."""

    status: int
    headers: dict[str, str]
    kept_open: bool  # may another request follow, once the body has been read?
    length: int | None  # of the body in bytes; None: in chunks, or until the connection ends
    chunked: bool


def read_head(stream: Any) -> Head:
    """Return the next head of a buffered stream; from memory, if an equal one came before.

    Raises HTTPException and its kinds, and what reading the stream raises.
    """
    for _ in range(_MAX_INTERIM):
        head = _next_head(stream)
        if head.status >= 200 or head.status == _SWITCHED:
            return head
    raise WeirdReply(f"more than {_MAX_INTERIM} answers that announce another one")


def _next_head(stream: Any) -> Head:
    received = stream.peek(1)
    start = received[: len(_PROTOCOL)]
    if not _PROTOCOL.startswith(start):  # a line of another protocol may never end
        raise BadStatusLine(repr(start))
    end = received.find(b"\n\r\n") + 3
    if end >= 3 and received.find(b"\n\n", 0, end) < 0:
        return _whole_head(stream.read(end))
    return _parsed_head(stream)


@remembered
def _whole_head(content: bytes) -> Head:
    return _parsed_head(BytesIO(content))


def _parsed_head(stream: BinaryIO) -> Head:
    """One head, read line by line; nothing behind it is touched."""
    line = read_line(stream)
    if not line:
        raise RemoteDisconnected("the server closed the connection without an answer")
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        raise BadStatusLine(repr(line[:80]))
    status, headers = int(match[2]), read_headers(stream)
    chunked, length = _chunked(headers), _length(headers)
    delimited = chunked or length is not None
    if status in _NO_BODY:
        chunked, length, delimited = False, 0, status != _SWITCHED
    # a length beside chunks: somebody on the way may have believed the other one
    clear = delimited and not (chunked and "content-length" in headers)
    kept_open = clear and _wished_open(headers, default=match[1] != b"0")
    return Head(status, headers, kept_open, None if chunked else length, chunked)


def read_headers(stream: BinaryIO) -> dict[str, str]:
    """Header lines up to the empty one; trailers, too."""
    headers: dict[str, str] = {}
    for _ in range(_MAX_HEADERS):
        line = read_line(stream)
        if line in (b"\r\n", b"\n"):
            return headers
        if not line.endswith(b"\n"):
            raise IncompleteRead(line)
        match = _HEADER.fullmatch(line.decode("latin-1"))
        if match is None:
            raise WeirdReply(f"a line is no header: {line[:80]!r}")
        name, value = match[1].lower(), match[2].strip()
        if name in _LISTS and name in headers:
            value = f"{headers[name]}, {value}"
        headers[name] = value
    raise HTTPException(f"more than {_MAX_HEADERS} headers")


def read_line(stream: BinaryIO) -> bytes:
    """One line with its end; without one where the stream ends, empty at its very end."""
    line = stream.readline(_MAX_LINE)
    if len(line) == _MAX_LINE:
        raise LineTooLong("header line")
    return line


def _tokens(value: str) -> list[str]:
    return [token.strip().lower() for token in value.split(",")]


def _chunked(headers: dict[str, str]) -> bool:
    codings = headers.get("transfer-encoding", "")
    if codings.lower() not in ("", "identity", "chunked"):
        raise UnknownCoding(f"Transfer-Encoding is {codings!r}")
    return codings.lower() == "chunked"


def _length(headers: dict[str, str]) -> int | None:
    value = headers.get("content-length")
    if value is None:
        return None
    lengths = {*_tokens(value)}
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise WeirdReply(f"Content-Length is {value[:80]!r}")
    return int(lengths.pop())


def _wished_open(headers: dict[str, str], default: bool) -> bool:
    wish = headers.get("connection")
    if wish is None:
        return default
    wishes = _tokens(wish)
    return "close" not in wishes and (default or "keep-alive" in wishes)


class Reply(NamedTuple):
    """An answer with its complete body; ``headers`` as in :class:`Head`."""

    status: int
    headers: Mapping[str, str]
    body: Buffer


def read_reply(stream: Any) -> tuple[Reply, bool]:
    """Return the next answer; also whether another request may follow on the connection."""
    with ANSWER:
        head = read_head(stream)
    with BODY:
        if head.length is not None:
            body = _exactly(stream, head.length)
        else:
            body = _chunks(stream) if head.chunked else stream.read()
    return Reply(head.status, head.headers, body), head.kept_open


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
    parts = []
    while True:
        size = _chunk_size(read_line(stream))
        if size == 0:
            break
        parts.append(_exactly(stream, size))
        if read_line(stream).strip(b"\r\n"):
            raise HTTPException("a chunk is longer than it says")
    read_headers(stream)  # trailers: none matters here
    return b"".join(parts)


def _chunk_size(line: bytes) -> int:
    match = _CHUNK.fullmatch(line)
    if match is None:
        raise HTTPException(f"a chunk begins with {line[:80]!r}")
    return int(match[1], 16)

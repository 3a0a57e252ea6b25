"""Read one HTTP/1.x answer; its body comes in the one buffer that the kernel wrote to."""

from __future__ import annotations

import re
from http.client import HTTPException, IncompleteRead
from typing import Any, BinaryIO, Mapping, NamedTuple

import numpy as np

from tritonclient_shim.backends.http.errors import ANSWER, BODY
from tritonclient_shim.backends.http.response_head import (
    Head,
    read_head,
    read_headers,
    read_line,
)
from tritonclient_shim.core.model import Buffer

SMALL = 1 << 16  # bytes; a body from here on is worth a buffer of its own
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")


class Reply(NamedTuple):
    """An answer with its complete body; ``headers`` as in :class:`~.response_head.Head`."""

    status: int
    headers: Mapping[str, str]
    body: Buffer


def read_reply(stream: Any) -> tuple[Reply, bool]:
    """The next answer; also whether another request may follow on the connection."""
    with ANSWER:
        head = read_head(stream)
    with BODY:
        body = _body(stream, head)
    return Reply(head.status, head.headers, body), head.kept_open


def read_status(stream: Any) -> int:
    """The status of the next answer, of which nothing but its head is read, as after CONNECT."""
    with ANSWER:
        return read_head(stream, buffered=False).status


def _body(stream: BinaryIO, head: Head) -> Buffer:
    if head.chunked:
        return _chunks(stream)
    if head.length is None:
        return stream.read()
    return _exactly(stream, head.length)


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
    found = _CHUNK.fullmatch(line)
    if found is None:
        raise HTTPException(f"a chunk begins with {line[:80]!r}")
    return int(found[1], 16)

"""Reading a request's body, decompressed where it is compressed, within bounds."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any, AsyncIterator

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tritonclient_shim.gateway.bodies import SMALL, Bodies, Body, BodyRefused

#: Bytes that are decompressed at a time.
_PIECE = SMALL
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_PLAIN = ("", "identity")
_KNOWN = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}


class BodyTooLarge(BodyRefused):
    """A body is larger than this gateway takes."""

    def __init__(self, size: int | None, largest: int) -> None:
        found = f"of {size} bytes" if size is not None else "without Content-Length"
        super().__init__(
            f"a request body {found} exceeds the limit of this gateway, {largest} bytes: "
            "send less at a time, or start the gateway with a larger --max-body-bytes"
        )


class BodyUnreadable(BodyRefused):
    """A body is not what its headers say."""


async def read_body(
    request: web.BaseRequest, bodies: Bodies, body: Body, largest: int
) -> memoryview:
    """The body, read into one buffer.

    BodyTooLarge before anything beyond the limit is kept, other BodyRefused for a body that
    cannot be read, ClientLeft.
    """
    size = request.content_length
    if size is not None and size > largest:
        raise BodyTooLarge(size, largest)
    pieces = _pieces(body, request.headers.get("Content-Encoding", "").strip().lower())
    await _ask_for(request)
    try:
        async for piece in pieces:
            if body.held + len(piece) > largest:
                raise BodyTooLarge(None, largest)
            await bodies.hold(body, len(piece))
            body.data += piece
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise BodyUnreadable(
            f"the request body is not understood: {error}: expected as many bytes as "
            "Content-Length tells, or chunks as Transfer-Encoding: chunked has them"
        ) from error
    bodies.arrived(body)
    return memoryview(body.data)


async def _ask_for(request: web.BaseRequest) -> None:
    """Tell a client that waits for it to send its body; there are none before HTTP/1.1."""
    expected = request.headers.get("Expect", "").lower()
    if expected == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def _pieces(body: Body, encoding: str) -> AsyncIterator[bytes]:
    if encoding in _PLAIN:
        return _plain(body)
    if encoding not in _KNOWN:
        raise BodyUnreadable(
            f"unknown Content-Encoding {encoding!r} of the request body: expected gzip or "
            "deflate, or no encoding"
        )
    return _decompressed(body, _KNOWN[encoding])


async def _plain(body: Body) -> AsyncIterator[bytes]:
    while True:
        data = await body.read()
        if not data:
            return
        yield data


async def _decompressed(body: Body, encoding: str) -> AsyncIterator[bytes]:
    """A compressed body piece by piece, so that none becomes large before it is counted."""
    unpacking: Any = None
    async for data in _plain(body):
        full = False
        while data or full:
            if unpacking is None:
                unpacking = zlib.decompressobj(_GZIP if encoding == "gzip" else _format(data))
            piece, data, unpacking = _step(unpacking, data, encoding)
            full = len(piece) == _PIECE  # there may be more without further data
            await asyncio.sleep(0)  # other clients have their turn
            yield piece
    if unpacking is not None and not unpacking.eof:
        raise BodyUnreadable(
            f"the request body is not complete: its {encoding} data ends before their end mark"
        )


def _step(unpacking: Any, data: bytes, encoding: str) -> tuple[bytes, bytes, Any]:
    """Decompress one piece → the piece, what of ``data`` is left, and what continues with it."""
    try:
        piece = unpacking.decompress(data, _PIECE)
    except zlib.error as error:
        raise BodyUnreadable(
            f"the request body cannot be decompressed as {encoding}, its Content-Encoding: {error}"
        ) from error
    if not unpacking.eof:
        return piece, unpacking.unconsumed_tail, unpacking
    return piece, unpacking.unused_data, None if unpacking.unused_data else unpacking


def _format(data: bytes) -> int:
    """Data of ``deflate`` have zlib's header, which many clients leave out."""
    return _ZLIB if data[:1] and data[0] & 0x0F == 8 else _RAW

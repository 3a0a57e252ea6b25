"""Reading a request's body, decompressed if it is compressed, within the limits of its size."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any, AsyncIterator

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from tritonclient_shim.core.model import Buffer
from tritonclient_shim.gateway.http.body_limits import ADMITTED_AT_ONCE, Bodies, Body, BodyRefused

#: The most bytes that one step of decompression produces.
_DECOMPRESSED_BYTES = ADMITTED_AT_ONCE
#: Smaller pieces are joined: an object of each would take more memory than its bytes.
_JOINED_BELOW = 4096
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_PLAIN = ("", "identity")
_KNOWN = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}


class BodyTooLarge(BodyRefused):
    """A body exceeds the limit of its size."""

    def __init__(self, size: int | None, largest: int) -> None:
        found = f"of {size} bytes" if size is not None else "without Content-Length"
        super().__init__(
            f"a request body {found} exceeds the limit of this gateway, {largest} bytes: "
            "send less at a time, or start the gateway with a larger --max-body-bytes"
        )


class BodyUnreadable(BodyRefused):
    """A body does not have the form that its headers announce."""


async def read_body(
    request: web.BaseRequest, bodies: Bodies, body: Body, largest: int
) -> list[Buffer]:
    """The whole body, in the pieces in which it has arrived.

    Raises BodyTooLarge before more than ``largest`` bytes are in memory, another BodyRefused for
    a body that cannot be read, and ClientLeft when the client closes the connection.
    """
    size = request.content_length
    if size is not None and size > largest:
        raise BodyTooLarge(size, largest)
    encoding = _encoding(request)
    await _ask_for(request)
    try:
        if encoding is None:
            while piece := await body.read():
                await _keep(bodies, body, piece, largest)
        else:
            async for piece in _decompressed(body, encoding):
                await _keep(bodies, body, piece, largest)
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise BodyUnreadable(
            f"the request body is not understood: {error}: expected as many bytes as "
            "Content-Length tells, or chunks as Transfer-Encoding: chunked has them"
        ) from error
    bodies.arrived(body)
    return body.pieces


async def _keep(bodies: Bodies, body: Body, piece: bytes, largest: int) -> None:
    if body.held + len(piece) > largest:
        raise BodyTooLarge(None, largest)
    await bodies.hold(body, len(piece))
    pieces = body.pieces
    if len(piece) >= _JOINED_BELOW or not pieces:
        pieces.append(piece)
    elif isinstance(pieces[-1], bytearray):
        pieces[-1] += piece
    else:
        pieces.append(bytearray(piece))


async def _ask_for(request: web.BaseRequest) -> None:
    """Send "100 Continue" to a client that waits for it. HTTP/1.0 did not have it."""
    expected = request.headers.get("Expect", "").lower()
    if expected == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def _encoding(request: web.BaseRequest) -> str | None:
    """How the body is compressed; None if it is not."""
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding in _PLAIN:
        return None
    if encoding not in _KNOWN:
        raise BodyUnreadable(
            f"unknown Content-Encoding {encoding!r} of the request body: expected gzip or "
            "deflate, or no encoding"
        )
    return _KNOWN[encoding]


async def _decompressed(body: Body, encoding: str) -> AsyncIterator[bytes]:
    """The pieces of a compressed body, each small, so that it is counted before the next."""
    unpacking: Any = None
    while data := await body.read():
        full = False
        while data or full:
            if unpacking is None:
                unpacking = zlib.decompressobj(_GZIP if encoding == "gzip" else _format(data))
            piece, data, unpacking = _step(unpacking, data, encoding)
            full = len(piece) == _DECOMPRESSED_BYTES  # there may be more output without more input
            await asyncio.sleep(0)  # lets the event loop serve other clients
            yield piece
    if unpacking is not None and not unpacking.eof:
        raise BodyUnreadable(
            f"the request body is not complete: its {encoding} data ends before their end mark"
        )


def _step(unpacking: Any, data: bytes, encoding: str) -> tuple[bytes, bytes, Any]:
    """Decompress one piece → the piece, the rest of ``data``, and the object that decompresses it.

    That object is None where the compressed data have ended: what follows begins anew.
    """
    try:
        piece = unpacking.decompress(data, _DECOMPRESSED_BYTES)
    except zlib.error as error:
        raise BodyUnreadable(
            f"the request body cannot be decompressed as {encoding}, its Content-Encoding: {error}"
        ) from error
    if not unpacking.eof:
        return piece, unpacking.unconsumed_tail, unpacking
    return piece, unpacking.unused_data, None if unpacking.unused_data else unpacking


def _format(data: bytes) -> int:
    """The format of ``deflate`` data: zlib's, or without its header, as many clients send them."""
    return _ZLIB if data[:1] and data[0] & 0x0F == 8 else _RAW

"""The bodies of HTTP requests: limits of size and time, and v1's errors."""

from __future__ import annotations

import asyncio

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError

from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.gateway.http.responses import BAD_REQUEST, REQUEST_TIMEOUT

_TOO_LARGE = (
    "a request body {0} exceeds the limit of this gateway, {1} bytes: send less at a time, or "
    "start the gateway with a larger --max-body-bytes"
)
_UNREADABLE = (
    "the request body is not understood: {0}: expected as many bytes as Content-Length tells, or "
    "chunks as Transfer-Encoding: chunked has them, and data in its Content-Encoding"
)
_ENCODINGS = ("", "identity", "gzip", "deflate")
_UNKNOWN_ENCODING = (
    "unknown Content-Encoding {0!r} of the request body: expected gzip or deflate, or no encoding"
)
_TOO_SLOW = (
    "the request body did not arrive: nothing came for {0:g} seconds: send it again, or start the "
    "gateway with a larger --client-timeout"
)


class BodyError(ServerError):
    """A body cannot be accepted. ``http_status`` is the response's."""

    def __init__(
        self, text: str, code: str = "INVALID_ARGUMENT", http_status: int = BAD_REQUEST
    ) -> None:
        super().__init__(text, code)
        self.http_status = http_status


async def read_body(request: web.BaseRequest, largest: int, timeout: float) -> list[Buffer]:
    """Return the decompressed body, in the pieces that arrived.

    Raise BodyError before more than ``largest`` bytes are in memory, for a body that cannot be
    read, and if nothing arrives for ``timeout`` seconds. Raise OSError if the client leaves.
    """
    size = request.content_length
    if size is not None and size > largest:
        raise BodyError(_TOO_LARGE.format(f"of {size} bytes", largest))
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in _ENCODINGS:  # aiohttp would hand on the bytes as they are
        raise BodyError(_UNKNOWN_ENCODING.format(encoding))
    pieces: list[Buffer] = []
    left = largest
    try:
        while piece := await _piece(request.content, timeout):
            left -= len(piece)
            if left < 0:
                raise BodyError(_TOO_LARGE.format("without Content-Length", largest))
            pieces.append(piece)
    except asyncio.TimeoutError:
        raise BodyError(_TOO_SLOW.format(timeout), "UNAVAILABLE", REQUEST_TIMEOUT) from None
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise BodyError(_UNREADABLE.format(" ".join(str(error).split()))) from error
    return pieces


async def _piece(content: StreamReader, timeout: float) -> bytes:
    reading = content.readany()
    if content.is_eof():  # everything has arrived: no timer is needed
        return bytes(await reading)
    return bytes(await asyncio.wait_for(reading, timeout))

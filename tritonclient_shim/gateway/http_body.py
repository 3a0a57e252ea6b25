"""Reading a request's body, within bounds."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tritonclient_shim.gateway.upstream import Upstream
from tritonclient_shim.protos import request_status_pb2
from tritonclient_shim.service import status as outcomes


class BodyTooLarge(Exception):
    """A body is larger than this gateway takes."""

    def __init__(self, size: int | None, largest: int) -> None:
        found = f"of {size} bytes" if size is not None else "without Content-Length"
        super().__init__(
            f"a request body {found} exceeds the limit of this gateway, {largest} bytes: "
            "send less at a time, or start the gateway with a larger --max-body-bytes"
        )

    def status(self, upstream: Upstream, request_id: int) -> Any:
        """v1's status for it."""
        told = outcomes.success(upstream.known_id, request_id)
        told.code, told.msg = request_status_pb2.INVALID_ARG, str(self)
        return told


async def read_body(request: web.BaseRequest, largest: int) -> memoryview:
    """The body, read into one buffer; BodyTooLarge before anything beyond the limit is kept."""
    size = request.content_length
    if size is not None and size > largest:
        raise BodyTooLarge(size, largest)
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    body = bytearray()
    while True:
        chunk = await request.content.readany()
        if not chunk:
            return memoryview(body)
        if len(body) + len(chunk) > largest:
            raise BodyTooLarge(None, largest)
        body += chunk

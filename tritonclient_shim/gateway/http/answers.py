"""v1's HTTP answers: the status 200, 400 or 405, the header NV-Status, and a body in one of three
formats (docs/v1-behaviour.md §9.1).
"""

from __future__ import annotations

import asyncio
from typing import Any, Sequence
from urllib.parse import parse_qs

from aiohttp import web
from google.protobuf import json_format, text_format

from tritonclient_shim.core.model import Buffer
from tritonclient_shim.protos import request_status_pb2

OK, BAD_REQUEST, NOT_ALLOWED = 200, 400, 405

BINARY, TEXT, JSON = "binary", "text", "json"
_CONTENT_TYPES = {
    BINARY: "application/octet-stream",
    TEXT: "text/plain",
    JSON: "application/json",
}

#: libcurl, which v1's clients use, gives up on header lines of 100 KB, and Python's http.client on
#: those of more than 64 KB, name included.
LONGEST_HEADER = 60 * 1024
_LONGEST_MESSAGE = 16 * 1024
#: The size in bytes from which the parts of a body are sent one by one, without being joined.
_SENT_IN_PARTS_FROM = 256 * 1024
#: Bytes of one write, which a client must accept within its time limit.
_WRITE_BYTES = 1024 * 1024


def query_format(query: str) -> str:
    """The value of ``format`` in a query string; '' without one."""
    return parse_qs(query, keep_blank_values=True).get("format", [""])[-1]


def one_line(message: Any) -> str:
    """A message as the value of a header: in text format, on one line, in ASCII."""
    return str(text_format.MessageToString(message, as_one_line=True, as_utf8=False))


def status_header(status: Any) -> str:
    """RequestStatus → the value of NV-Status."""
    if len(status.msg) <= _LONGEST_MESSAGE:
        return one_line(status)
    short = request_status_pb2.RequestStatus()
    short.CopyFrom(status)
    short.msg = f"{status.msg[:_LONGEST_MESSAGE]}…"
    return one_line(short)


def refusal(code: int) -> web.Response:
    """The answer to a bad path or method, without NV-Status and without a body."""
    return web.Response(status=code)


def answer(
    status: Any, body: bytes = b"", kind: str = BINARY, good: bool = True, **headers: str
) -> web.Response:
    """The answer to a call: 200 if it succeeded and its result is ``good``, otherwise 400."""
    success = status.code == request_status_pb2.SUCCESS
    return web.Response(
        status=OK if success and good else BAD_REQUEST,
        headers={"NV-Status": status_header(status), "Content-Type": _CONTENT_TYPES[kind]},
        body=body if success else b"",
    )


def body_of(message: Any, kind: str, camel_case: bool = False) -> bytes:
    """A message as a body; text has one line for each field.

    In JSON, fields have their names as in the .proto file, or in lowerCamelCase.
    """
    if kind == BINARY:
        return bytes(message.SerializeToString())
    if kind == JSON:
        text = json_format.MessageToJson(message, preserving_proto_field_name=not camel_case)
    else:
        text = text_format.MessageToString(message, as_utf8=False)
    return bytes(text, "utf-8")


def answer_message(status: Any, message: Any, kind: str, camel_case: bool = False) -> web.Response:
    """An answer whose body is a message."""
    return answer(status, body_of(message, kind, camel_case), kind)


def closing(status: Any, code: int = BAD_REQUEST) -> web.Response:
    """The answer to a request whose body was not read to its end: it closes the connection."""
    response = answer(status)
    response.set_status(code)
    response.force_close()
    return response


async def send(
    request: web.BaseRequest,
    headers: dict[str, str],
    parts: Sequence[Buffer],
    timeout: float,
    close: bool,
) -> web.StreamResponse:
    """Send an answer with status 200 and a body of several parts; large parts are not copied.

    The connection is cut if the client accepts nothing for ``timeout`` seconds, and with ``close``
    it is closed behind the answer.
    """
    size = sum(memoryview(part).nbytes for part in parts)
    if size < _SENT_IN_PARTS_FROM:
        return web.Response(headers=headers, body=b"".join(parts))
    response = web.StreamResponse(headers=headers)
    if close:
        response.force_close()
    response.content_length = size
    await response.prepare(request)
    for part in parts:
        whole = memoryview(part).cast("B")
        for start in range(0, len(whole), _WRITE_BYTES):
            writing = response.write(whole[start : start + _WRITE_BYTES])
            try:
                await asyncio.wait_for(writing, timeout)
            except asyncio.TimeoutError:
                _drop(request)
                return response
    await response.write_eof()
    return response


def _drop(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.abort()

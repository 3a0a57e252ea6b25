"""v1's HTTP responses (docs/v1-behaviour.md §9.1).

A response has status 200, 400 or 405, the header NV-Status, and a body in one of three formats.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from aiohttp import web
from google.protobuf import json_format, text_format

from tritonclient_shim.core.model import V1Reply, V1Result
from tritonclient_shim.protos import api_pb2, request_status_pb2
from tritonclient_shim.translate import v1_messages

OK = 200
BAD_REQUEST = 400
NOT_ALLOWED = 405
REQUEST_TIMEOUT = 408

BINARY = "binary"
TEXT = "text"
JSON = "json"
_CONTENT_TYPES = {
    BINARY: "application/octet-stream",
    TEXT: "text/plain",
    JSON: "application/json",
}

#: libcurl, which v1's clients use, rejects header lines of 100 KB. Python's http.client rejects
#: lines of more than 64 KB, name included.
LONGEST_HEADER = 60 * 1024
_LONGEST_MESSAGE = 16 * 1024
#: Larger bodies, in bytes, are sent in parts that are not joined.
_SENT_IN_PARTS_FROM = 256 * 1024
#: Bytes of one write. A client must accept them within its time limit.
_WRITE_BYTES = 1024 * 1024
#: The value of the header ``Server``. aiohttp's own names its version and Python's.
SERVER = "tritonclient-shim"
#: Headers of responses with at most this many outputs are remembered.
_REMEMBERED = 16


def one_line(message: Any) -> str:
    """Return a message as the value of a header: in text format, on one line, in ASCII."""
    return str(text_format.MessageToString(message, as_one_line=True, as_utf8=False))


def status_header(status: Any) -> str:
    """Return the value of NV-Status."""
    if len(status.msg) <= _LONGEST_MESSAGE:
        return one_line(status)
    short = request_status_pb2.RequestStatus()
    short.CopyFrom(status)
    short.msg = f"{status.msg[:_LONGEST_MESSAGE]}…"
    return one_line(short)


def bare(code: int) -> web.Response:
    """Return the response to a bad path or method, without NV-Status and without a body."""
    return web.Response(status=code)


def response(status: Any, body: bytes = b"", kind: str = BINARY, good: bool = True) -> web.Response:
    """Return the response to a call: 200 if it succeeded and its result is ``good``, else 400."""
    success = status.code == request_status_pb2.SUCCESS
    return web.Response(
        status=OK if success and good else BAD_REQUEST,
        headers={"NV-Status": status_header(status), "Content-Type": _CONTENT_TYPES[kind]},
        body=body if success else b"",
    )


def body_of(message: Any, kind: str, camel_case: bool = False) -> bytes:
    """Return a message as a body.

    Text has one line for each field. In JSON, fields have their names as in the .proto file, or in
    lowerCamelCase.
    """
    if kind == BINARY:
        return bytes(message.SerializeToString())
    if kind == JSON:
        text = json_format.MessageToJson(message, preserving_proto_field_name=not camel_case)
    else:
        text = text_format.MessageToString(message, as_utf8=False)
    return bytes(text, "utf-8")


# ----------------------------------------------------------------------- successful inferences


class Success(NamedTuple):
    """The response to a successful inference: its headers, and the parts of its body."""

    headers: dict[str, str]
    body: list[Any]


def success_of(status: Any, reply: V1Reply, binary: bool) -> Success:
    """Return a reply's response. Its body is the raw outputs, and the response header again.

    With ``binary``, that header is a serialised message. Otherwise it is text.
    """
    line, text, message = header_forms(reply)
    headers = {
        "NV-Status": success_text(status),
        "NV-InferResponse": line,
        "Content-Type": _CONTENT_TYPES[BINARY],
        "Server": SERVER,
    }
    parts: list[Any] = [result.data for result in reply.outputs if result.data is not None]
    parts.append(message if binary else text)
    return Success(headers, parts)


async def send(
    request: web.BaseRequest, success: Success, timeout: float, close: bool
) -> web.StreamResponse:
    """Send a response with status 200; large parts of its body are not copied.

    Cut the connection if the client accepts nothing for ``timeout`` seconds. With ``close``, the
    connection ends after the response.
    """
    size = sum(memoryview(part).nbytes for part in success.body)
    if size < _SENT_IN_PARTS_FROM:
        return web.Response(headers=success.headers, body=b"".join(success.body))
    sent = web.StreamResponse(headers=success.headers)
    if close:
        sent.force_close()
    sent.content_length = size
    await sent.prepare(request)
    for part in success.body:
        whole = memoryview(part).cast("B")
        for start in range(0, len(whole), _WRITE_BYTES):
            writing = sent.write(whole[start : start + _WRITE_BYTES])
            if not await _accepted(request, writing, timeout):
                return sent
    await sent.write_eof()
    return sent


async def _accepted(request: web.BaseRequest, writing: Any, timeout: float) -> bool:
    """Wait for a write. Cut the connection and return False after ``timeout`` seconds."""
    try:
        await asyncio.wait_for(writing, timeout)
    except asyncio.TimeoutError:
        if request.transport is not None:
            request.transport.abort()
        return False
    return True


# Responses of one kind differ in their numbers only. Text format takes long in pure Python: some
# 150 µs for the header of a small response. So the rest of that header is remembered.


def success_text(status: Any) -> str:
    """Return the status of a success as the value of NV-Status."""
    return f"{_without_number(status.server_id)} request_id: {status.request_id}"


def _without_number(server_id: str) -> str:
    success = request_status_pb2.SUCCESS
    return one_line(request_status_pb2.RequestStatus(code=success, server_id=server_id))


def header_forms(reply: V1Reply) -> tuple[str, bytes, bytes]:
    """Return a reply's header as the value of NV-InferResponse, as text, and serialised.

    The texts have no ``data_type``: clients before 1.12 refuse text with a field that they do not
    know. Later clients do not need this field.
    """
    results = reply.outputs
    id = reply.id
    if len(results) > _REMEMBERED or [True for result in results if result.classes is not None]:
        line, text, message = _forms(reply._replace(id=0))
    else:
        line, text, message = _remembered(*reply[:3], tuple(map(_without_data, results)))
    if not id:
        return line, text, message
    # the field of the id has the highest number
    serialised: bytes = api_pb2.InferResponseHeader(id=id).SerializeToString()
    return f"{line} id: {id}".lstrip(), b"%sid: %d\n" % (text, id), message + serialised


def _forms(reply: V1Reply) -> tuple[str, bytes, bytes]:
    header = v1_messages.response_header(reply)
    message = header.SerializeToString()
    for output in header.output:
        output.ClearField("data_type")
    return _within_limit(header), body_of(header, TEXT), message


_without_data = itemgetter(0, 1, 2, 3)


@lru_cache(maxsize=256)
def _remembered(model: str, version: int, batch: int, results: Any) -> tuple[str, bytes, bytes]:
    outputs = tuple(V1Result(*result) for result in results)
    return _forms(V1Reply(model, version, batch, outputs))


def _within_limit(header: api_pb2.InferResponseHeader) -> str:
    """Return the value of NV-InferResponse; without its classes if it would be too long.

    Clients read the classes from the body.
    """
    text = one_line(header)
    if len(text) <= LONGEST_HEADER:
        return text
    short = api_pb2.InferResponseHeader()
    short.CopyFrom(header)
    for output in short.output:
        output.ClearField("batch_classes")
    return one_line(short)

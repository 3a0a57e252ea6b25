"""``POST /api/infer`` (docs/v1-behaviour.md §9.1): the body is tensors, headers describe them."""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from google.protobuf import text_format

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import Buffer
from tritonclient_shim.core.reading import read
from tritonclient_shim.gateway.access_log import AccessRecord
from tritonclient_shim.gateway.clients import http_headers
from tritonclient_shim.gateway.http.responses import (
    BAD_REQUEST,
    REQUEST_TIMEOUT,
    Success,
    bare,
    closing,
    one_line,
    response,
    send,
    success_of,
)
from tritonclient_shim.gateway.http.routes import INT64, number
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import api_pb2, request_status_pb2
from tritonclient_shim.service import status as statuses
from tritonclient_shim.session.inference import Answer

#: The longest header in characters that is remembered.
_REMEMBERED = 4096
_NO_HEADER = "The request header should contain 'NV-InferRequest'"

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


class BodyError(Exception):
    """A body cannot be accepted. ``code`` is the HTTP status, ``kind`` is v1's code."""

    def __init__(
        self, text: str, code: int = BAD_REQUEST, kind: int = request_status_pb2.INVALID_ARG
    ) -> None:
        super().__init__(text)
        self.code = code
        self.kind = kind

    def response(self, server_id: str, record: AccessRecord, request_id: int) -> web.Response:
        """Return the response to the body's request, and note its status in the record."""
        record.status = statuses.success(server_id, request_id)
        record.status.code, record.status.msg = self.kind, str(self)
        return closing(record.status, self.code)


async def read_body(request: web.BaseRequest, largest: int, timeout: float) -> list[Buffer]:
    """Return the decompressed body, in the pieces in which it arrived.

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
        while piece := await _piece(request, timeout):
            left -= len(piece)
            if left < 0:
                raise BodyError(_TOO_LARGE.format("without Content-Length", largest))
            pieces.append(piece)
    except asyncio.TimeoutError:
        unavailable = request_status_pb2.UNAVAILABLE
        raise BodyError(_TOO_SLOW.format(timeout), REQUEST_TIMEOUT, unavailable) from None
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise BodyError(_UNREADABLE.format(" ".join(str(error).split()))) from error
    return pieces


async def _piece(request: web.BaseRequest, timeout: float) -> bytes:
    content = request.content
    if content.is_eof():  # everything has arrived: no timer is needed
        return bytes(await content.readany())
    return bytes(await asyncio.wait_for(content.readany(), timeout))


class HttpInference:
    """Answers the inference requests that come over HTTP."""

    def __init__(
        self, upstream: Upstream, inference: Inferences, options: GatewayOptions, stopping: Stopping
    ) -> None:
        self._upstream = upstream
        self._stopping = stopping
        self._inference = inference
        self._max_body_bytes = options.max_body_bytes
        self._client_timeout = options.client_timeout
        self._forwarded = options.forward_header

    async def infer(
        self, request: web.BaseRequest, model: str, version: str, binary: bool, record: AccessRecord
    ) -> web.StreamResponse:
        """Answer one request for a model; ``version`` is '' for the latest.

        With ``binary``, the response header behind the tensors is a serialised message. Otherwise
        it is text.
        """
        text = request.headers.get("NV-InferRequest")
        if text is None:
            return web.Response(status=BAD_REQUEST, text=_NO_HEADER)
        header = parse_header(text)
        if header is None:
            return bare(BAD_REQUEST)
        request_id = next_request_id()
        try:
            success = await self._success(
                request, (model, version), header, request_id, binary, record
            )
        except BodyError as error:
            return _with_id(error.response(self._upstream.known_id, record, request_id), header)
        except InferenceServerException as error:
            record.status = self._upstream.refused(error)
            return _with_id(response(record.status), header)
        record.status = success.status
        timeout, closes = self._client_timeout, self._stopping.begun
        return await send(request, success.headers, success.body, timeout, closes)

    async def _success(
        self,
        request: web.BaseRequest,
        model: tuple[str, str],
        header: api_pb2.InferRequestHeader,
        request_id: int,
        binary: bool,
        record: AccessRecord,
    ) -> Success:
        body = await read_body(request, self._max_body_bytes, self._client_timeout)
        record.received = sum(map(len, body))
        name, digits = model
        version = number(digits, INT64) if digits else -1
        service = self._upstream.infer
        inference = service.inference_of_body(name, version, header, body, request_id)
        inference = inference._replace(headers=http_headers(request.headers, self._forwarded))
        make = partial(self._response, binary)
        return await self._inference.answer(inference, record.received, make)

    def _response(self, binary: bool, answer: Answer) -> Success:
        """Return the response to a request that has succeeded.

        Raise InferenceServerException if the request was refused, or the reply cannot be read.
        """
        reply = self._upstream.infer.reply(answer)
        request_id = answer.identity.request_id
        v1_status = self._upstream.success(request_id)
        with self._upstream.reading(request_id):
            return read(success_of, v1_status, reply, binary, self._upstream.release)


def parse_header(text: str) -> api_pb2.InferRequestHeader | None:
    """Return the message in NV-InferRequest; None if the text is not one in text format.

    Equal headers are parsed once, so nobody may change the message.
    """
    return (_known if len(text) <= _REMEMBERED else _parsed)(text)


def _parsed(text: str) -> api_pb2.InferRequestHeader | None:
    header = api_pb2.InferRequestHeader()
    try:
        text_format.Parse(text, header)
    except text_format.ParseError:
        return None
    return header


_known = lru_cache(maxsize=256)(_parsed)


def _with_id(refused: web.Response, header: api_pb2.InferRequestHeader) -> web.Response:
    """Add a response header that has only the request's id (docs/v1-behaviour.md §9.1)."""
    refused.headers["NV-InferResponse"] = one_line(api_pb2.InferResponseHeader(id=header.id))
    return refused

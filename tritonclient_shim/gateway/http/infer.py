"""``POST /api/infer`` (docs/v1-behaviour.md §9.1): the body is tensors, headers describe them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Match

from aiohttp import web
from google.protobuf import text_format

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import V1Reply
from tritonclient_shim.gateway.access_log import AccessRecord
from tritonclient_shim.gateway.clients import http_headers
from tritonclient_shim.gateway.http.bodies import BodyError, read_body
from tritonclient_shim.gateway.http.responses import (
    BAD_REQUEST,
    Success,
    bare,
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
from tritonclient_shim.protos import api_pb2

#: The longest header in characters that is remembered.
_REMEMBERED = 4096
_NO_HEADER = "The request header should contain 'NV-InferRequest'"


class HttpInference:
    """Answers the inference requests that come over HTTP."""

    def __init__(
        self, upstream: Upstream, inference: Inferences, options: GatewayOptions, stopping: Stopping
    ) -> None:
        self._upstream = upstream
        self._stopping = stopping
        self._inference = inference
        self._options = options

    async def answer(
        self, request: web.BaseRequest, path: Match[str], binary: bool, record: AccessRecord
    ) -> web.StreamResponse:
        """Answer one request. ``path`` has the model and the version.

        With ``binary``, the response header behind the tensors is a serialised message. Otherwise
        it is text.
        """
        record.model = path[1]
        text = request.headers.get("NV-InferRequest")
        if text is None:
            return web.Response(status=BAD_REQUEST, text=_NO_HEADER)
        header = parse_header(text)
        if header is None:
            return bare(BAD_REQUEST)
        request_id = next_request_id()
        try:
            success = await self._success(request, path, header, request_id, binary, record)
        except BodyError as error:
            record.status = error.status(self._upstream.known_id, request_id)
            return _with_id(error.response(record.status), header)
        except InferenceServerException as error:
            record.status = self._upstream.failure(error)
            return _with_id(response(record.status), header)
        record.status = success.status
        return await send(request, success, self._options.client_timeout, self._stopping.begun)

    async def _success(
        self,
        request: web.BaseRequest,
        path: Match[str],
        header: api_pb2.InferRequestHeader,
        request_id: int,
        binary: bool,
        record: AccessRecord,
    ) -> Success:
        options = self._options
        body = await read_body(request, options.max_body_bytes, options.client_timeout)
        record.received = sum(map(len, body))
        version = number(path[2], INT64) if path[2] else -1
        service = self._upstream.infer
        inference = service.inference_of_body(path[1], version, header, body, request_id)
        headers = http_headers(request.headers, options.forward_header)
        if headers:
            inference = inference._replace(headers=headers)

        def make(success: Any, reply: V1Reply) -> Success:
            return success_of(success, reply, binary, self._upstream.release)

        return await self._inference.answer(
            inference, lambda answer: self._upstream.response(answer, make)
        )


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

"""``POST /api/infer`` (docs/v1-behaviour.md §9.1): the body is tensors, headers tell the rest."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

from aiohttp import web
from google.protobuf import text_format

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import V1Reply
from tritonclient_shim.core.reading import read
from tritonclient_shim.gateway.access_log import AccessRecord
from tritonclient_shim.gateway.forwarding import of_http
from tritonclient_shim.gateway.http.answers import (
    BAD_REQUEST,
    BINARY,
    answer,
    body_of,
    closing,
    one_line,
    refusal,
    send,
)
from tritonclient_shim.gateway.http.body_limits import Bodies, BodyRefused
from tritonclient_shim.gateway.http.body_reader import read_body
from tritonclient_shim.gateway.http.calls import INT64, number
from tritonclient_shim.gateway.http.texts import response_texts, success_text
from tritonclient_shim.gateway.options.releases import Release
from tritonclient_shim.gateway.options.table import GatewayOptions
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.session.inference import Answer
from tritonclient_shim.translate import v1_messages

#: The longest header in characters that is remembered.
_REMEMBERED = 4096
_NO_HEADER = "The request header should contain 'NV-InferRequest'"


class HttpInference:
    """Answers the inference requests that come over HTTP."""

    def __init__(
        self,
        upstream: Upstream,
        inference: Inferences,
        bodies: Bodies,
        options: GatewayOptions,
        stopping: Stopping,
    ) -> None:
        self._upstream = upstream
        self._stopping = stopping
        self._inference = inference
        self._bodies = bodies
        self._max_body_bytes = options.max_body_bytes
        self._client_timeout = options.client_timeout
        self._forwarded = options.forward_header

    async def infer(
        self, request: web.BaseRequest, model: str, version: str, binary: bool, record: AccessRecord
    ) -> web.StreamResponse:
        """Answer one request for a model; ``version`` is '' for the latest.

        With ``binary``, the response header behind the tensors is a serialised message; otherwise
        it is text.
        """
        text = request.headers.get("NV-InferRequest")
        if text is None:
            return web.Response(status=BAD_REQUEST, text=_NO_HEADER)
        header = parse_header(text)
        if header is None:
            return refusal(BAD_REQUEST)
        number = next_request_id()
        try:
            success = await self._answer(request, model, version, header, number, binary, record)
        except BodyRefused as error:
            record.status = error.status(self._upstream.known_id, number)
            return _with_id(closing(record.status, error.code), header)
        except InferenceServerException as error:
            record.status = self._upstream.refused(error)
            return _with_id(answer(record.status), header)
        record.status = success.status
        closes = self._stopping.begun or request.protocol.is_old()
        return await send(request, success.headers, success.body, self._client_timeout, closes)

    async def _answer(
        self,
        request: web.BaseRequest,
        model: str,
        version: str,
        header: api_pb2.InferRequestHeader,
        number: int,
        binary: bool,
        record: AccessRecord,
    ) -> Success:
        with self._bodies.receive(request.content) as arriving:
            body = await read_body(request, self._bodies, arriving, self._max_body_bytes)
            record.received = arriving.arrived
            service = self._upstream.infer
            inference = service.inference_of_body(model, _version(version), header, body, number)
            inference = inference._replace(headers=of_http(request.headers, self._forwarded))
            read = partial(self._read, binary)
            return await self._inference.answer(inference, arriving.held, read)

    def _read(self, binary: bool, answer: Answer) -> Success:
        """The outcome of a request → the answer to its client, if the request has succeeded.

        Raises InferenceServerException if the request was refused, or its answer cannot be read.
        """
        reply = self._upstream.infer.reply(answer)
        number = answer.identity.request_id
        v1_status = self._upstream.success(number)
        with self._upstream.reading(number):
            return read(success_of, v1_status, reply, binary, self._upstream.release)


def parse_header(text: str) -> api_pb2.InferRequestHeader | None:
    """The value of NV-InferRequest → the message; None if it is not one in text format.

    Headers that come again are parsed once, so nobody may change the message.
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


def _version(digits: str) -> int:
    return number(digits, INT64) if digits else -1


class Success(NamedTuple):
    """The answer to a request that has succeeded: v1's status, the headers, and the body."""

    status: Any
    headers: dict[str, str]
    body: list[Any]


def success_of(v1_status: Any, reply: V1Reply, binary: bool, release: Release) -> Success:
    """A reply → the answer. Its body is the raw outputs, and the response header once more."""
    header = v1_messages.response_header(reply)
    release.trim_header(header)
    line, text = response_texts(header, release.data_type_in_text)
    headers = {
        "NV-Status": success_text(v1_status),
        "NV-InferResponse": line,
        "Content-Type": "application/octet-stream",
    }
    tail = body_of(header, BINARY) if binary else text
    parts = [result.data for result in reply.outputs if result.data is not None]
    return Success(v1_status, headers, [*parts, tail])


def _with_id(response: web.Response, header: api_pb2.InferRequestHeader) -> web.Response:
    """The answer to a refused request, with a response header that has only the request's id
    (docs/v1-behaviour.md §9.1).
    """
    response.headers["NV-InferResponse"] = one_line(api_pb2.InferResponseHeader(id=header.id))
    return response

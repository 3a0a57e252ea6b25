"""``POST /api/infer`` (docs/v1-behaviour.md §9.1): tensors in the body, the rest in headers."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from aiohttp import web
from google.protobuf import text_format

from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.core.errors import Fault, InferenceServerException
from tritonclient_shim.core.ids import next_request_id
from tritonclient_shim.core.model import V1Reply
from tritonclient_shim.core.reading import read
from tritonclient_shim.gateway.access import Entry
from tritonclient_shim.gateway.bodies import Bodies, BodyRefused
from tritonclient_shim.gateway.http_answers import (
    BAD_REQUEST,
    BINARY,
    LONGEST_HEADER,
    TEXT,
    answer,
    body_of,
    closing,
    one_line,
    refusal,
    send,
)
from tritonclient_shim.gateway.http_body import read_body
from tritonclient_shim.gateway.options import Options
from tritonclient_shim.gateway.upstream import Upstream
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.service import status
from tritonclient_shim.service.infer import Exchange
from tritonclient_shim.translate import v1_messages

_NO_HEADER = "The request header should contain 'NV-InferRequest'"


class HttpInference:
    """Answers inference requests; no thread waits while the v2 server computes.

    A request has one of the slots, ``max_in_flight``, from when it has arrived until its
    answer has; how fast its client sends the one and takes the other is no one else's concern.
    """

    def __init__(
        self, upstream: Upstream, executor: Executor, bodies: Bodies, options: Options
    ) -> None:
        self._upstream = upstream
        self._executor = executor
        self._bodies = bodies
        self._slots = asyncio.Semaphore(options.max_in_flight)
        self._max_body_bytes = options.max_body_bytes
        self._client_timeout = options.client_timeout

    async def infer(
        self, request: web.BaseRequest, model: str, version: str, binary: bool, entry: Entry
    ) -> web.StreamResponse:
        """One request for a model; ``version`` is '' for the latest.

        ``binary``: the response header behind the tensors is a serialised message, not text.
        """
        text = request.headers.get("NV-InferRequest")
        if text is None:
            return web.Response(status=BAD_REQUEST, text=_NO_HEADER)
        header = parse_header(text)
        if header is None:
            return refusal(BAD_REQUEST)
        number = next_request_id()
        try:
            success = await self._answer(request, model, version, header, number, binary)
        except BodyRefused as error:
            entry.status = error.status(self._upstream.known_id, number)
            return _with_id(closing(entry.status, error.code), header)
        except InferenceServerException as error:
            entry.status = refused(self._upstream, error)
            return _with_id(answer(entry.status), header)
        entry.status = success.status
        return await send(request, success.headers, success.body, self._client_timeout)

    async def _answer(
        self,
        request: web.BaseRequest,
        model: str,
        version: str,
        header: api_pb2.InferRequestHeader,
        number: int,
        binary: bool,
    ) -> Success:
        with self._bodies.receive(request.content) as arriving:
            body = await read_body(request, self._bodies, arriving, self._max_body_bytes)
            exchange = Exchange(
                self._upstream.infer,
                model,
                _version(version),
                header,
                lambda profile: v1_messages.split_body(profile, header, body),
                number,
            )
            async with self._slots:
                outcome = await self._send(exchange)
                read_it = partial(self._read, exchange, outcome, number, binary)
                return await asyncio.get_running_loop().run_in_executor(self._executor, read_it)

    async def _send(self, exchange: Exchange) -> Outcome:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Outcome] = loop.create_future()

        def done(outcome: Outcome) -> None:
            with suppress(RuntimeError):  # the gateway has stopped meanwhile
                loop.call_soon_threadsafe(_settle, arrived, outcome)

        await loop.run_in_executor(self._executor, partial(self._start, exchange, done))
        return await arrived

    def _read(self, exchange: Exchange, outcome: Outcome, number: int, binary: bool) -> Success:
        """What came of the request → the answer to its client, on a thread: to read it may take
        a question to the server. InferenceServerException if there is no such answer.
        """
        reply = exchange.reply(outcome)
        told = self._upstream.success(number)
        with self._upstream.reading(number):
            return read(success_of, told, reply, binary)

    def _start(self, exchange: Exchange, done: Any) -> None:
        try:
            self._upstream.backend.infer_async(exchange.call(), done)
        except Fault as fault:
            done(fault)


def _settle(arrived: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not arrived.done():
        arrived.set_result(outcome)


def parse_header(text: str) -> api_pb2.InferRequestHeader | None:
    """The value of NV-InferRequest → its message; None when it is not in text format."""
    header = api_pb2.InferRequestHeader()
    try:
        text_format.Parse(text, header)
    except text_format.ParseError:
        return None
    return header


def _version(digits: str) -> int:
    return int(digits) if digits else -1


def refused(upstream: Upstream, error: InferenceServerException) -> Any:
    """An error of the service → v1's status, also when the v2 server did not answer."""
    try:
        return status.refused(error)
    except InferenceServerException:
        return upstream.failure(error)


class Success(NamedTuple):
    """The answer to a request that has been answered: v1's status, headers, and the body."""

    status: Any
    headers: dict[str, str]
    body: list[Any]


def success_of(told_status: Any, reply: V1Reply, binary: bool) -> Success:
    """The reply → its answer: raw outputs, then the response header again."""
    header = v1_messages.response_header(reply)
    told = readable(header)
    headers = {
        "NV-Status": one_line(told_status),
        "NV-InferResponse": _within_limit(told),
        "Content-Type": "application/octet-stream",
    }
    tail = body_of(header, BINARY) if binary else body_of(told, TEXT)
    parts = [result.data for result in reply.outputs if result.data is not None]
    return Success(told_status, headers, [*parts, tail])


def readable(header: api_pb2.InferResponseHeader) -> api_pb2.InferResponseHeader:
    """The header for text format, in which an older client takes no field that it does not know.

    That is ``data_type``, new in 1.12. Clients as of then take its absence.
    """
    told = api_pb2.InferResponseHeader()
    told.CopyFrom(header)
    for output in told.output:
        output.ClearField("data_type")
    return told


def _within_limit(header: api_pb2.InferResponseHeader) -> str:
    """The value of NV-InferResponse; clients read classes from the body, so they may go."""
    text = one_line(header)
    if len(text) <= LONGEST_HEADER:
        return text
    short = api_pb2.InferResponseHeader()
    short.CopyFrom(header)
    for output in short.output:
        output.ClearField("batch_classes")
    return one_line(short)


def _with_id(response: web.Response, header: api_pb2.InferRequestHeader) -> web.Response:
    """A refused request: its response header holds only the id, if it has one
    (docs/v1-behaviour.md §9.1).
    """
    response.headers["NV-InferResponse"] = one_line(api_pb2.InferResponseHeader(id=header.id))
    return response

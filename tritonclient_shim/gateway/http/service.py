"""The gateway's HTTP server: accepts connections, and answers each request.

Everything here runs in one event loop. Calls that ask the v2 server run on threads.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Match

from aiohttp import StreamReader, web
from aiohttp.http_exceptions import HttpProcessingError
from google.protobuf import text_format

from tritonclient_shim.concurrency.daemon_executor import DaemonExecutor
from tritonclient_shim.core.errors import ServerError
from tritonclient_shim.core.model import Buffer, next_request_id
from tritonclient_shim.gateway.access_log import AccessLog, AccessRecord
from tritonclient_shim.gateway.clients import http_headers, tls_context
from tritonclient_shim.gateway.http import routes
from tritonclient_shim.gateway.http.responses import (
    BAD_REQUEST,
    BINARY,
    NOT_ALLOWED,
    REQUEST_TIMEOUT,
    SERVER,
    bare,
    body_of,
    one_line,
    response,
    send,
    success_of,
)
from tritonclient_shim.gateway.listeners import BACKLOG, listeners_at
from tritonclient_shim.gateway.options import GatewayOptions
from tritonclient_shim.gateway.stopping import Stopping, until
from tritonclient_shim.gateway.upstream.calls import ControlCalls
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.settings.addresses import join_port

_READ_SIZE = 256 * 1024
#: Bytes of one field. NV-InferRequest names every input, output and shape of a request.
_LONGEST_FIELD = 256 * 1024
_LONGEST_LINE = 64 * 1024
#: Seconds that an idle connection is kept: v1's clients keep theirs as long as they live.
KEEP_ALIVE = 3600.0
#: Seconds without accepting after an error, such as too many open files.
_PAUSE = 0.1
#: Seconds that a stop waits for the first request of a client that has just connected.
_FIRST_REQUEST = 1.0
#: Seconds that requests have at the very end of a stop, after their time of grace.
_LAST = 0.1
#: The longest NV-InferRequest in characters that is parsed in the event loop.
_PARSED_AT_ONCE = 16 * 1024
#: Parses longer ones: a single thread, because text format holds Python's lock.
_parser = DaemonExecutor(1, "gateway-headers")
#: The longest NV-InferRequest in characters that is remembered.
_REMEMBERED = 4096
#: The most characters of a client's text in a message.
_SHOWN = 200
_NO_HEADER = "The request header should contain 'NV-InferRequest'"
_UNREADABLE_HEADER = (
    "NV-InferRequest is not understood: {0}: expected an InferRequestHeader in protobuf's text "
    "format"
)
_TOO_LARGE = (
    "a request body {0} exceeds the limit of this gateway, {1} bytes: send less at a time, or "
    "start the gateway with a larger --max-body-bytes"
)
_UNREADABLE = (
    "the request body is not understood: {0}: expected as many bytes as Content-Length tells, or "
    "chunks as Transfer-Encoding: chunked has them"
)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_ENCODED = (
    "Content-Encoding {0!r} of the request body is not supported, as v1's server knew none: send "
    "the body without an encoding"
)
_TOO_SLOW = (
    "the request body did not arrive: nothing came for {0:g} seconds: send it again, or start the "
    "gateway with a larger --client-timeout"
)


_quiet = logging.getLogger("tritonclient_shim.gateway.aiohttp")
_quiet.disabled = True  # bytes that are no HTTP would be a traceback; the handler logs defects


class HttpFront:
    """The HTTP server of a gateway. It is made and used in one event loop.

    Every request gets 200, 400 or 405, as from v1's server, or 408, which is new.
    """

    def __init__(
        self,
        options: GatewayOptions,
        upstream: Upstream,
        inference: Inferences,
        calls: ControlCalls,
        access_log: AccessLog,
        stopping: Stopping,
    ) -> None:
        self._options = options
        self._upstream = upstream
        self._inference = inference
        self._calls = calls
        self._access_log = access_log
        self._stopping = stopping
        self._tls = tls_context(options)
        self._server = web.Server(self._handle)
        self._listeners: list[socket.socket] = []
        self._beginning: set[asyncio.Task[None]] = set()
        #: Connections of less than a second that have not sent a request.
        self._fresh: set[Any] = set()

    # ------------------------------------------------------------------------------ connections

    async def open(self) -> int:
        """Listen, and return the port. Raise CannotListen when the address is in use."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_log_error)
        for listener in await listeners_at(self._options.http):
            self._listeners.append(listener)
            self._listen(listener)
        return int(self._listeners[0].getsockname()[1])

    def _listen(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        """Accept the clients that have connected."""
        loop = asyncio.get_running_loop()
        try:
            for _ in range(BACKLOG):
                task = loop.create_task(self._connect(listener.accept()[0]))
                self._beginning.add(task)
                task.add_done_callback(self._beginning.discard)
        except BlockingIOError:
            pass
        except OSError:  # too many open files, or a client that has left
            loop.remove_reader(listener)
            loop.call_later(_PAUSE, self._listen, listener)

    async def _connect(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # the client has left, or speaks no TLS
            await loop.connect_accepted_socket(self._protocol, connection, ssl=self._tls)

    def _protocol(self) -> Any:
        loop = asyncio.get_running_loop()
        protocol = _Connection(
            self._server,
            loop=loop,
            access_log=None,
            logger=_quiet,
            keepalive_timeout=KEEP_ALIVE,
            read_bufsize=_READ_SIZE,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_FIELD,
            auto_decompress=False,
        )
        protocol.refusals = self._access_log
        self._fresh.add(protocol)
        loop.call_later(_FIRST_REQUEST, self._fresh.discard, protocol)
        return protocol

    async def stop(self, end: float) -> None:
        """Accept the clients that have connected, listen no more, and answer until ``end``."""
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            asyncio.get_running_loop().remove_reader(listener)
            self._accept(listener)
            listener.close()  # at once: a client that connects later is reset
        if self._beginning:
            await asyncio.wait(self._beginning, timeout=_FIRST_REQUEST)
        await until(lambda: not self._fresh, min(end, time.monotonic() + _FIRST_REQUEST))
        await until(lambda: not self._stopping.in_progress, end)
        self._server.pre_shutdown()
        await self._server.shutdown(_LAST)

    # --------------------------------------------------------------------------------- requests

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._fresh.discard(request.protocol)
        path, _, query = routes.origin_form(request.raw_path).partition("?")
        record = AccessRecord(self._access_log, "http", "-", f"{request.method} {path}")
        if self._access_log.enabled:
            record.peer = _peer(request)
        with self._stopping, record:
            answer = await self._answer(request, path, query, record)
            record.sent = answer.content_length or 0
            transport = request.transport
            if transport is None or transport.is_closing():  # the client has left
                record.status = None
        if not answer.prepared:
            answer.headers["Server"] = SERVER
            if self._stopping.begun:
                answer.force_close()
        return answer

    async def _answer(
        self, request: web.BaseRequest, path: str, query: str, record: AccessRecord
    ) -> web.StreamResponse:
        target = routes.route_of(request.method, path)
        if target is None:
            self._access_log.refused("http", "path")
            return bare(NOT_ALLOWED if routes.wrong_method(request.method, path) else BAD_REQUEST)
        route, match = target
        record.call = route.rpc
        form = routes.body_format(route.rpc, query, request.headers.get("Accept", ""))
        try:
            if route.request is None:
                return await self._infer(request, match, form == BINARY, record)
            return await self._call(request, route, match, form, record)
        except ConnectionError:  # the client has left
            record.status = None
            return bare(BAD_REQUEST)
        except Exception as error:  # the client waits for an answer, whatever has failed
            return self._refusal(error, record)

    def _refusal(self, error: Exception, record: AccessRecord) -> web.Response:
        record.status = self._upstream.failure(error)
        refusal = response(record.status)
        if isinstance(error, _BodyError):
            self._access_log.refused("http", error.reason)
            refusal.set_status(error.http_status)
            refusal.force_close()  # the rest of the body is not read
        return refusal

    async def _call(
        self,
        request: web.BaseRequest,
        route: routes.Route,
        match: Match[str],
        form: str,
        record: AccessRecord,
    ) -> web.StreamResponse:
        """Answer a call that is no inference."""
        body = b""
        if route.body:
            body = b"".join(await _read_body(request, route.body, self._options.client_timeout))
        assert route.request is not None
        message = route.request(match, body)
        headers = http_headers(request.headers, self._options.forward_header)
        to_http = partial(self._response, route, form)
        record.status, answer = await self._calls.answer(route.rpc, message, headers, to_http)
        return answer

    def _response(self, route: routes.Route, form: str, reply: Any) -> web.Response:
        if route.result is not None:
            body = body_of(route.result(reply), form, self._upstream.release.camel_case)
            return response(reply.request_status, body, form)
        return response(reply.request_status, good=getattr(reply, "health", True))

    async def _infer(
        self, request: web.BaseRequest, path: Match[str], binary: bool, record: AccessRecord
    ) -> web.StreamResponse:
        """Answer ``POST /api/infer``: the body is tensors, and headers describe them."""
        record.model = path[1]
        text = request.headers.get("NV-InferRequest")
        if text is None:
            self._access_log.refused("http", "NV-InferRequest")
            return web.Response(status=BAD_REQUEST, text=_NO_HEADER)
        try:
            header = await _read_header(text)
        except text_format.ParseError as error:
            self._access_log.refused("http", "NV-InferRequest")
            reason = " ".join(str(error).split())[:_SHOWN]
            return web.Response(status=BAD_REQUEST, text=_UNREADABLE_HEADER.format(reason))
        options = self._options
        try:
            body = await _read_body(request, options.max_body_bytes, options.client_timeout)
            record.received = sum(map(len, body))
            version = routes.number(path[2], routes.INT64) if path[2] else -1
            exchange = self._upstream.service.exchange_of_body(
                path[1], version, header, body, next_request_id()
            )
            headers = http_headers(request.headers, options.forward_header)
            make = partial(success_of, binary=binary)
            record.status, success = await self._inference.answer(exchange, headers, make)
        except ConnectionError:
            raise
        except Exception as error:  # with the request's id (docs/v1-behaviour.md §9.1)
            refusal = self._refusal(error, record)
            refusal.headers["NV-InferResponse"] = one_line(
                api_pb2.InferResponseHeader(id=header.id)
            )
            return refusal
        return await send(request, success, options.client_timeout, self._stopping.begun)


async def _read_header(text: str) -> api_pb2.InferRequestHeader:
    """Return the message in NV-InferRequest. Raise ParseError if it is not in text format.

    Large headers are parsed on a thread: other requests are answered meanwhile.
    """
    if len(text) <= _PARSED_AT_ONCE:
        return parse_header(text)
    return await asyncio.get_running_loop().run_in_executor(_parser, _parsed, text)


def parse_header(text: str) -> api_pb2.InferRequestHeader:
    """Return the message in NV-InferRequest. Raise ParseError if it is not in text format.

    Equal headers are parsed once, so callers must not change the message. To parse the header of a
    small request takes 250 µs.
    """
    return (_known if len(text) <= _REMEMBERED else _parsed)(text)


def _parsed(text: str) -> api_pb2.InferRequestHeader:
    header = api_pb2.InferRequestHeader()
    text_format.Parse(text, header)
    return header


_known = lru_cache(maxsize=256)(_parsed)


class _Connection(web.RequestHandler):
    """A connection of aiohttp, whose own errors are counted and name no version."""

    __slots__ = ("refusals",)
    refusals: AccessLog

    def handle_error(self, *arguments: Any, **named: Any) -> web.StreamResponse:
        """Return aiohttp's response to bytes that are no request."""
        answer = super().handle_error(*arguments, **named)
        answer.headers["Server"] = SERVER
        self.refusals.refused("http", "head")
        return answer


def _log_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of the event loop, unless aiohttp could not read the target of a request.

    aiohttp 3.10, the last for Python 3.8, raises ValueError for targets such as ``http://[``.
    """
    is_of_connection = isinstance(context.get("protocol"), web.RequestHandler)
    is_of_request = "RequestHandler" in repr(context.get("future"))
    is_of_aiohttp = is_of_connection or is_of_request
    if is_of_aiohttp and isinstance(context.get("exception"), ValueError):
        return
    loop.default_exception_handler(context)


def _peer(request: web.BaseRequest) -> str:
    """Return the address of the client."""
    transport = request.transport
    place = None if transport is None else transport.get_extra_info("peername")
    return join_port(place[0], place[1]) if place else ""


# ------------------------------------------------------ request bodies: limits of size and time


class _BodyError(ServerError):
    """A body cannot be accepted. ``http_status`` is the response's, ``reason`` the metric's."""

    def __init__(
        self,
        text: str,
        reason: str,
        code: str = "INVALID_ARGUMENT",
        http_status: int = BAD_REQUEST,
    ) -> None:
        super().__init__(text, code)
        self.reason = reason
        self.http_status = http_status


async def _read_body(request: web.BaseRequest, largest: int, timeout: float) -> list[Buffer]:
    """Return the body, in the pieces that arrived.

    Raise _BodyError before more than ``largest`` bytes are in memory. Raise it also for unreadable
    bodies, and if nothing arrives for ``timeout`` seconds. Raise OSError if the client leaves.
    """
    size = request.content_length
    if size is not None and size > largest:
        raise _BodyError(_TOO_LARGE.format(f"of {size} bytes", largest), "size")
    encoding = request.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise _BodyError(_ENCODED.format(encoding[:_SHOWN]), reason="encoding")
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(_CONTINUE)
    pieces: list[Buffer] = []
    left = largest
    try:
        while piece := await _piece(request.content, timeout):
            left -= len(piece)
            if left < 0:
                raise _BodyError(_TOO_LARGE.format("without Content-Length", largest), "size")
            pieces.append(piece)
    except asyncio.TimeoutError:
        text = _TOO_SLOW.format(timeout)
        raise _BodyError(text, "slow", "UNAVAILABLE", REQUEST_TIMEOUT) from None
    except (web.RequestPayloadError, HttpProcessingError) as error:
        raise _BodyError(_UNREADABLE.format(" ".join(str(error).split())), "body") from error
    return pieces


async def _piece(content: StreamReader, timeout: float) -> bytes:
    reading = content.readany()
    if content.is_eof():  # everything has arrived: no timer is needed
        return bytes(await reading)
    return bytes(await asyncio.wait_for(reading, timeout))

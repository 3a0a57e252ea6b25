"""``StreamInfer`` of the gateway: one v1 stream over one v2 stream, or several in succession.

v1's clients wait for ever when a stream breaks (docs/v1-behaviour.md §5). Therefore the v1 stream
stays open as long as its client does. When the v2 stream breaks, or Triton does not answer in time,
the gateway answers all open requests with UNAVAILABLE. The next request opens another v2 stream.
The client has to start an open sequence again.

An idle v1 stream has neither a thread nor a v2 stream: the v2 stream is closed when all requests
are answered and no request follows. Sequences stay open, because the v2 server keeps them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, AsyncIterator, Callable, cast

import grpc

from tritonclient_shim.backends.base import (
    Backend,
    CallHeaders,
    Outcome,
    StreamingBackend,
    call_with,
)
from tritonclient_shim.core.errors import (
    BackendError,
    InvalidRequest,
    ServerError,
    StreamEnded,
    TransportError,
)
from tritonclient_shim.core.model import InferCall
from tritonclient_shim.gateway.access_log import AccessLog, AccessRecord
from tritonclient_shim.gateway.grpc.messages import read_request, refusal_of, response_of
from tritonclient_shim.gateway.upstream.inference import Inferences
from tritonclient_shim.gateway.upstream.server import Upstream, check_model_name
from tritonclient_shim.servers.dialects import dialect_of
from tritonclient_shim.service import stream_refusal
from tritonclient_shim.session.exchange import Exchange
from tritonclient_shim.session.streams import RequestStream, SequenceLost, Sequences

#: The most bytes of unanswered requests on one stream. Further requests are not read meanwhile.
MAX_UNREAD = 64 * 1024 * 1024
#: Bytes that a request takes in this process beside its content, at most.
_OVERHEAD = 4096
#: Seconds without an unanswered request after which the v2 stream is closed.
_IDLE = 1.0
_CLOSED = TransportError("its stream was closed")


def is_fragile(backend: Backend) -> bool:
    """True if the server crashes at unknown models on a stream. Ask it once per connection."""
    metadata = backend.known_server().metadata
    if metadata is None:
        try:
            metadata = backend.server_metadata()
        except BackendError:  # the stream will report what is wrong
            return False
        backend.known_server().metadata = metadata
    return dialect_of(metadata).ends_at_unknown_models(metadata)


class _Entry:
    """One request of a stream. ``answered`` is done when its exchange has an outcome."""

    def __init__(self, exchange: Exchange, record: AccessRecord) -> None:
        self.exchange = exchange
        self.record = record
        self.size = _OVERHEAD + record.received
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settle(self, outcome: Outcome) -> None:
        """Keep the first outcome. Ignore later ones."""
        if not self.answered.done():
            self.exchange.outcome = outcome
            self.answered.set_result(None)

    def refuse(self, error: BackendError) -> None:
        """Keep the error of a request that was not sent."""
        if not self.answered.done():
            self.exchange.refuse(error)
            self.answered.set_result(None)


class V1Stream:
    """The responses of one v1 stream, in the order of its requests. It is used in one event loop.

    ``unreadable`` is True, at the end, if a client's message was no request.
    """

    def __init__(
        self,
        upstream: Upstream,
        inference: Inferences,
        context: Any,
        access_log: AccessLog,
        headers: CallHeaders,
    ) -> None:
        self._upstream = upstream
        self._inference = inference
        self._context = context
        self._access_log = access_log
        self._headers = headers
        self._loop = asyncio.get_running_loop()
        self._entries: deque[_Entry] = deque()  # unanswered, in the order of the requests
        self._unread = 0
        self._changed = asyncio.Event()
        self._stream: RequestStream | None = None  # to the v2 server
        self._sequences = Sequences()
        self._number: int | None = None  # of streams that have followed each other without a break
        #: The models and versions that a fragile server has; None for any other server.
        self._checked: set[tuple[str, str]] | None = None
        self._next_id = count(1).__next__
        self._resting: asyncio.TimerHandle | None = None
        self.unreadable = False
        self._reading = asyncio.ensure_future(self._read())

    def close(self) -> None:
        """End the v2 stream and read no more requests."""
        self._reading.cancel()
        self._stay_open()
        self._give_up(_CLOSED)

    # ------------------------------------------------------------------------- responses

    async def responses(self) -> AsyncIterator[bytes]:
        """Yield the serialised response of each request."""
        while True:
            if self._entries:
                entry = self._entries[0]
                with entry.record as record:
                    record.status, response = await self._response(entry)
                    record.sent = len(response)
                self._entries.popleft()
                self._unread -= entry.size
                self._changed.set()  # there is room for requests
                if not self._entries:
                    self._stay_open()
                    self._resting = self._loop.call_later(_IDLE, self._close_idle)
                yield response
            elif self._reading.done():
                return
            else:
                self._changed.clear()
                await self._changed.wait()

    async def _response(self, entry: _Entry) -> tuple[Any, bytes]:
        try:
            await self._wait_for(entry)
            return await self._inference.read(entry.exchange, self._headers, response_of)
        except Exception as error:  # the client waits for an answer, whatever has failed
            failure = self._upstream.failure(error)
            return failure, refusal_of(failure, entry.exchange.client_id)

    async def _wait_for(self, entry: _Entry) -> None:
        """Wait for the outcome of a request. It is an error if the v2 server has no answer."""
        answered = entry.answered
        if not answered.done():
            with self._inference.waiting(answered):
                await asyncio.wait({answered}, timeout=self._upstream.session.timeout)
        if answered.done() and not answered.cancelled():
            answered.result()  # raises what has failed
            return
        late = self._upstream.hang() if answered.done() else self._upstream.session.timed_out()
        answered.cancel()  # a late answer must not replace the error
        self._give_up(late)  # the v2 stream answers in the order of its requests
        entry.exchange.refuse(late)

    # -------------------------------------------------------------------------- requests

    async def _read(self) -> None:
        try:
            while await self._read_request():
                pass
        finally:
            self._changed.set()

    async def _read_request(self) -> bool:
        """Send the next request on. Return False if there are no more."""
        data = await self._context.read()
        if data is grpc.aio.EOF:
            return False
        request = read_request(data)
        if request is None:
            self.unreadable = True
            return False
        exchange = self._upstream.service.exchange(request)
        model = request.model_name
        record = self._access_log.rpc("StreamInfer", model, len(data), self._context)
        entry = _Entry(exchange, record)
        while self._unread and self._unread + entry.size > MAX_UNREAD:
            self._changed.clear()
            await self._changed.wait()
        self._unread += entry.size
        self._entries.append(entry)
        self._changed.set()
        await self._send(entry)
        return True

    async def _send(self, entry: _Entry) -> None:
        """Send a request. If that fails, the error is its answer."""
        self._stay_open()
        exchange = entry.exchange
        try:
            check_model_name(exchange.model.name)
            if exchange.prepare_promptly(streaming=True) is None:
                await self._on_thread(exchange.prepare, True)
            call = exchange.number_call(str(self._next_id()))
            try:
                await self._send_call(entry, call)
            except StreamEnded:  # and so it was not sent
                self._stream = self._number = None
                await self._send_call(entry, call)
        except SequenceLost as lost:
            entry.refuse(InvalidRequest(lost.message))
        except BackendError as backend_error:
            entry.refuse(backend_error)
        except Exception as error:  # the request waits for an answer, whatever has failed
            if not entry.answered.done():
                entry.answered.set_exception(error)
                entry.answered.exception()  # if the client has left, nobody retrieves it

    async def _send_call(self, entry: _Entry, call: InferCall) -> None:
        if self._stream is None or self._stream.ended:
            backend = cast(StreamingBackend, self._upstream.session.backend)
            fragile = await self._on_thread(is_fragile, backend)
            self._checked = set() if fragile else None
            self._stream = call_with(
                self._headers, RequestStream, backend, self._sequences, self._ended, self._number
            )
            self._number = self._stream.number
        stream = self._stream
        if self._checked is not None and (call.model_name, call.model_version) not in self._checked:
            await self._on_thread(self._check, self._checked, call)
        stream.send(call, partial(self._answered, entry))

    async def _on_thread(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Call the function on a thread. Its calls to Triton have the client's metadata."""
        return await self._inference.on_thread(call_with, self._headers, function, *arguments)

    def _check(self, checked: set[tuple[str, str]], call: InferCall) -> None:
        """Ask for the model, on a thread. Raise ServerError, as a stream does, if it is missing."""
        try:
            self._upstream.session.backend.model_config(call.model_name, call.model_version)
        except ServerError as error:
            raise stream_refusal(error) from error
        checked.add((call.model_name, call.model_version))

    # --------------------------------------------------------------- the v2 stream's end

    def _stay_open(self) -> None:
        if self._resting is not None:
            self._resting.cancel()

    def _close_idle(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close(wait=False)

    def _give_up(self, error: BackendError) -> None:
        """Drop the v2 stream. Its unanswered requests fail."""
        stream, self._stream, self._number = self._stream, None, None
        if stream is not None:
            stream.fail(error)
            stream.cancel()

    # ----------------------------------------------------------- on the v2 stream's thread

    def _answered(self, entry: _Entry, outcome: Outcome) -> None:
        if isinstance(outcome, ServerError):
            outcome = stream_refusal(outcome)
        self._in_loop(entry.settle, outcome)

    def _ended(self, stream: RequestStream, error: BackendError | None) -> None:
        stream.fail(error or _CLOSED)
        if error is not None:
            self._in_loop(self._broken, stream.number)

    def _broken(self, number: int) -> None:
        if self._number == number:
            self._number = None

    def _in_loop(self, function: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the event loop is closed: the gateway has stopped
            self._loop.call_soon_threadsafe(function, *arguments)

"""``StreamInfer`` of the gateway: one v1 stream over one v2 stream, or several in succession.

v1's clients wait for ever when a stream breaks (docs/v1-behaviour.md §5). Therefore the v1 stream
stays open as long as its client does. When the v2 stream breaks, or Triton does not answer in time,
the gateway itself answers the requests that the v2 server has not answered, with UNAVAILABLE, and
the next request opens another v2 stream. The client has to start an open sequence again.

An idle v1 stream has neither a thread nor a v2 stream: that one is closed when everything has been
answered and nothing more comes. Sequences stay open, since they are the v2 server's.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, AsyncIterator, cast

import grpc

from tritonclient_shim.backends.base import CallHeaders, Outcome, StreamingBackend
from tritonclient_shim.core.errors import (
    Fault,
    InferenceServerException,
    Refusal,
    ServerFault,
    StreamEnded,
    TransportFault,
)
from tritonclient_shim.core.model import InferCall
from tritonclient_shim.gateway.access_log import AccessLog, AccessRecord
from tritonclient_shim.gateway.grpc_messages import read_request
from tritonclient_shim.gateway.grpc_responses import Responses
from tritonclient_shim.gateway.inference import LARGE, Came, Inferences
from tritonclient_shim.gateway.upstream import Upstream
from tritonclient_shim.service import status
from tritonclient_shim.session.exchange import Exchange
from tritonclient_shim.session.fragile_streams import CheckedModels, is_fragile
from tritonclient_shim.session.request_stream import RequestStream
from tritonclient_shim.session.sequences import SequenceLost, Sequences

#: Bytes of the requests of one stream that have not been answered, before no more are read.
MAX_UNREAD = 64 * 1024 * 1024
#: Bytes that a request takes in this process beside its content, on the safe side.
_OVERHEAD = 4096
#: Seconds without an unanswered request after which the v2 stream is closed.
_IDLE = 1.0
_CLOSED = TransportFault("its stream was closed")


class _Asked:
    """One request and, later, what came of it. It is used in the event loop."""

    __slots__ = ("arrived", "exchange", "record", "size")

    def __init__(self, exchange: Exchange, size: int) -> None:
        self.exchange = exchange
        name = exchange.model.name
        self.record = AccessRecord("grpc", "StreamInfer", f"StreamInfer {name}", name)
        self.record.received = size
        self.size = _OVERHEAD + size
        self.arrived: asyncio.Future[Came] = asyncio.get_running_loop().create_future()

    def settle(self, came: Came) -> None:
        """Note what came of the request; the first note counts."""
        if not self.arrived.done():
            self.arrived.set_result(came)


def peer_of(context: Any) -> str:
    """The address of the client of a call, as gRPC writes it (``ipv4:127.0.0.1:4711``)."""
    return str(context.peer())


class V1Stream:
    """The responses of one v1 stream, in the order of its requests. It is used in one event loop.

    ``unreadable`` tells, at the end, that a message came which is no request.
    """

    def __init__(
        self,
        upstream: Upstream,
        inference: Inferences,
        responses: Responses,
        context: Any,
        access_log: AccessLog,
        headers: CallHeaders,
    ) -> None:
        self._access_log = access_log
        self._peer = peer_of(context) if access_log.wants_peers else ""
        self._upstream = upstream
        self._inference = inference
        self._responses = responses
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._entries: deque[_Asked] = deque()  # unanswered, in the order of the requests
        self._unread = 0
        self._changed = asyncio.Event()
        self._behind = _Behind(upstream, inference, headers)
        self.unreadable = False
        self._reading = asyncio.ensure_future(self._read())

    def close(self) -> None:
        """End the v2 stream and read no more requests."""
        self._reading.cancel()
        self._behind.cancel()

    async def responses(self) -> AsyncIterator[bytes]:
        """The serialised response of each request."""
        while True:
            if self._entries:
                entry = self._entries[0]
                with self._access_log.request(entry.record) as record:
                    came = await self._outcome(entry)
                    record.status, response = await self._response(entry, came)
                    record.sent, record.peer = len(response), self._peer
                self._entries.popleft()
                self._unread -= entry.size
                self._changed.set()  # there is room for requests
                if not self._entries:
                    self._behind.rest()
                yield response
            elif self._reading.done():
                return
            else:
                self._changed.clear()
                await self._changed.wait()

    async def _outcome(self, entry: _Asked) -> Came:
        if not entry.arrived.done():
            limit = self._loop.call_later(self._upstream.timeout, self._late)
            try:
                await entry.arrived
            finally:
                limit.cancel()
        return entry.arrived.result()

    def _late(self) -> None:
        self._behind.give_up(self._upstream.timed_out())

    async def _response(self, entry: _Asked, came: Came) -> tuple[Any, bytes]:
        if isinstance(came, InferenceServerException):
            return self._responses.of_failure(came, entry.exchange.client_id)
        return await self._inference.read(entry.exchange, came, self._responses.of)

    # -------------------------------------------------------------------------- requests

    async def _read(self) -> None:
        try:
            while await self._read_one():
                pass
        finally:
            self._changed.set()

    async def _read_one(self) -> bool:
        """Send the next request on; False when there are no more."""
        data = await self._context.read()
        if data is grpc.aio.EOF:
            return False
        request = read_request(data)
        if request is None:
            self.unreadable = True
            return False
        entry = _Asked(self._upstream.infer.exchange(request), request.size)
        while self._unread and self._unread + entry.size > MAX_UNREAD:
            self._changed.clear()
            await self._changed.wait()
        self._unread += entry.size
        self._entries.append(entry)
        self._changed.set()
        await self._behind.send(entry)
        return True


class _Behind:
    """The v2 stream behind a v1 stream, opened when a request comes."""

    def __init__(self, upstream: Upstream, inference: Inferences, headers: CallHeaders) -> None:
        self._upstream = upstream
        self._headers = headers
        self._inference = inference
        self._loop = asyncio.get_running_loop()
        self._sequences = Sequences()
        self._stream: RequestStream | None = None
        self._checked: CheckedModels | None = None  # of a server that needs it
        self._number: int | None = None  # of streams that have followed each other without a break
        self._sent: dict[_Asked, RequestStream] = {}  # unanswered requests
        self._next_id = count(1).__next__
        self._resting: asyncio.TimerHandle | None = None
        self._closed = False

    def rest(self) -> None:
        """Nothing is unanswered: close the stream soon, unless another request comes."""
        if self._resting is not None:
            self._resting.cancel()
        self._resting = self._loop.call_later(_IDLE, self._close_idle)

    def _close_idle(self) -> None:
        stream = self._stream
        if stream is not None and not self._sent:
            self._stream = None
            stream.close(wait=False)

    def give_up(self, fault: Fault) -> None:
        """Drop the stream; what it has not answered fails."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
            self._broken(stream, fault)

    def cancel(self) -> None:
        """The v1 stream has ended: drop the v2 stream."""
        self._closed = True
        if self._resting is not None:
            self._resting.cancel()
        self.give_up(_CLOSED)

    async def send(self, entry: _Asked) -> None:
        """Send one request; what comes of it is settled in its entry, whatever happens."""
        if self._resting is not None:
            self._resting.cancel()
        try:
            call = entry.exchange.prompt_call()
            if call is None:
                call = await self._inference.on_thread(entry.exchange.call)
            entry.exchange.check_stream()
            call = call._replace(request_id=str(self._next_id()))
            try:
                await self._send(entry, call)
            except StreamEnded:  # and so it was not sent
                self._stream = self._number = None
                await self._send(entry, call)
        except SequenceLost as lost:
            entry.settle(Refusal(lost.message, "INVALID_ARGUMENT"))
        except Fault as fault:
            entry.settle(fault)
        except Exception as error:  # the request waits for an answer, whatever has failed
            entry.settle(self._upstream.defect(error))

    async def _send(self, entry: _Asked, call: Any) -> None:
        stream = self._stream
        if stream is None or stream.ended:
            stream = await self._inference.on_thread(self._open)
            self._number = stream.number
        if self._checked is not None and not self._checked.has(call):
            await self._inference.on_thread(self._check, self._checked, call)
        self._sent[entry] = stream
        try:
            if entry.size > LARGE:
                await self._inference.on_thread(stream.send, call, partial(self._answered, entry))
            else:
                stream.send(call, partial(self._answered, entry))
        except Fault:
            self._sent.pop(entry, None)
            raise

    def _open(self) -> RequestStream:
        """Open a stream, on a thread; nobody may wait for it any more when it is open."""
        backend = cast(StreamingBackend, self._upstream.backend)
        self._checked = CheckedModels(backend) if is_fragile(backend) else None
        stream = RequestStream(backend, self._sequences, self._ended, self._number, self._headers)
        self._stream = stream
        if self._closed:
            stream.cancel()
        return stream

    @staticmethod
    def _check(checked: CheckedModels, call: InferCall) -> None:
        """Refuse a request at which the server would end; as a stream would."""
        try:
            checked.ask(call)
        except ServerFault as fault:
            raise status.of_stream(fault) from fault

    # ------------------------------------------------------------- on the v2 stream's thread

    def _answered(self, entry: _Asked, outcome: Outcome) -> None:
        told = status.of_stream(outcome) if isinstance(outcome, ServerFault) else outcome
        self._tell(self._settle, entry, told)

    def _ended(self, stream: RequestStream, fault: Fault | None) -> None:
        self._tell(self._broken, stream, fault)

    def _tell(self, function: Any, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop is closed: the gateway has stopped
            self._loop.call_soon_threadsafe(function, *arguments)

    # ------------------------------------------------------------------- in the event loop

    def _settle(self, entry: _Asked, outcome: Outcome) -> None:
        self._sent.pop(entry, None)
        entry.settle(outcome)

    def _broken(self, stream: RequestStream, fault: Fault | None) -> None:
        """A stream has ended. It must have answered everything, unless there is a fault."""
        if stream is self._stream:
            self._stream = None
        if fault is not None and self._number == stream.number:
            self._number = None
        error = self._upstream.error_of(fault or _CLOSED)
        for entry, sent_on in [*self._sent.items()]:
            if sent_on is stream:
                self._settle(entry, error)

"""The v2 stream behind a ``StreamInfer``, and what each request on it came to."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, Callable, TypeVar, cast

from tritonclient_shim.backends.base import Backend, CallHeaders, Outcome, StreamingBackend
from tritonclient_shim.backends.headers import call_with
from tritonclient_shim.core.errors import (
    Fault,
    Refusal,
    ServerFault,
    StreamEnded,
    TransportFault,
)
from tritonclient_shim.core.metadata import MODEL_CONFIGURATION, ServerMetadata
from tritonclient_shim.core.model import InferCall
from tritonclient_shim.gateway.access_log import AccessRecord
from tritonclient_shim.gateway.upstream.inference import LARGE, Came, Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.service import status
from tritonclient_shim.session.inference import Inference, Refused, Sendable
from tritonclient_shim.session.streams import RequestStream, SequenceLost, Sequences

T = TypeVar("T")

#: Bytes that a request takes in this process beside its content, on the safe side.
_OVERHEAD = 4096
#: Seconds without an unanswered request after which the v2 stream is closed.
_IDLE = 1.0
_CLOSED = TransportFault("its stream was closed")
#: Triton 2.33 ends with a segmentation fault when a request on a stream names a model or a version
#: that it does not have. This is the first release that is known to refuse it (docs/servers.md).
_WITHOUT_CRASH = (2, 39)


def is_fragile(backend: Backend) -> bool:
    """Does the server end at such a request? It is asked once per connection."""
    server = backend.known_server()
    if server.fragile_streams is None:
        try:
            told = backend.server_metadata()
        except Fault:  # the stream will tell what is wrong, if anything is
            return False
        server = backend.known_server()
        server.fragile_streams = _is_fragile(told)
    return server.fragile_streams


def _is_fragile(server: ServerMetadata) -> bool:
    return MODEL_CONFIGURATION in server.extensions and (2,) <= server.release < _WITHOUT_CRASH


class CheckedModels:
    """The models and versions that a fragile server is known to have; for one stream."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: set[tuple[str, str]] = set()

    def has(self, call: InferCall) -> bool:
        """Has the server been asked for the model of this call?"""
        return (call.model_name, call.model_version) in self._known

    def ask(self, call: InferCall) -> None:
        """Ask the server for the model; ServerFault, as on a stream, when it does not have it."""
        self._backend.model_config(call.model_name, call.model_version)
        self._known.add((call.model_name, call.model_version))


class Asked:
    """One request and, later, what came of it. It is used in the event loop."""

    __slots__ = ("arrived", "inference", "record", "size")

    def __init__(self, inference: Inference, size: int) -> None:
        self.inference = inference
        name = inference.identity.model.name
        self.record = AccessRecord("grpc", "StreamInfer", f"StreamInfer {name}", name)
        self.record.received = size
        self.size = _OVERHEAD + size
        self.arrived: asyncio.Future[Came] = asyncio.get_running_loop().create_future()

    def settle(self, came: Came) -> None:
        """Note what came of the request; the first note counts."""
        if not self.arrived.done():
            self.arrived.set_result(came)


class StreamBehind:
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
        self._sent: dict[Asked, RequestStream] = {}  # unanswered requests
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

    async def send(self, entry: Asked) -> None:
        """Send one request; what comes of it is settled in its entry, whatever happens."""
        if self._resting is not None:
            self._resting.cancel()
        inference = entry.inference = entry.inference._replace(headers=self._headers)
        try:
            sendable = inference.prepare_promptly(streaming=True)
            if sendable is None:
                sendable = await self._on_thread(inference.prepare, True)
            sendable = sendable.with_id(str(self._next_id()))
            try:
                await self._send(entry, sendable)
            except StreamEnded:  # and so it was not sent
                self._stream = self._number = None
                await self._send(entry, sendable)
        except SequenceLost as lost:
            refusal = Refusal(lost.message, "INVALID_ARGUMENT")
            entry.settle(Refused(inference.identity, refusal))
        except Fault as fault:
            entry.settle(Refused(inference.identity, fault))
        except Exception as error:  # the request waits for an answer, whatever has failed
            entry.settle(self._upstream.defect(error))

    async def _send(self, entry: Asked, sendable: Sendable) -> None:
        stream = self._stream
        if stream is None or stream.ended:
            stream = await self._inference.on_thread(self._open)
            self._number = stream.number
        call, answered = sendable.call, partial(self._answered, entry, sendable)
        if self._checked is not None and not self._checked.has(call):
            await self._on_thread(self._check, self._checked, call)
        self._sent[entry] = stream
        try:
            if entry.size > LARGE:
                await self._inference.on_thread(stream.send, call, answered)
            else:
                stream.send(call, answered)
        except Fault:
            self._sent.pop(entry, None)
            raise

    async def _on_thread(self, function: Callable[..., T], *arguments: object) -> T:
        """What the function returns or raises; what it asks Triton has the client's metadata."""
        return await self._inference.on_thread(call_with, self._headers, function, *arguments)

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

    def _answered(self, entry: Asked, sendable: Sendable, outcome: Outcome) -> None:
        if isinstance(outcome, ServerFault):
            outcome = status.of_stream(outcome)
        self._tell(self._settle, entry, sendable.answered(outcome))

    def _ended(self, stream: RequestStream, fault: Fault | None) -> None:
        self._tell(self._broken, stream, fault)

    def _tell(self, function: Any, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop is closed: the gateway has stopped
            self._loop.call_soon_threadsafe(function, *arguments)

    # ------------------------------------------------------------------- in the event loop

    def _settle(self, entry: Asked, came: Came) -> None:
        self._sent.pop(entry, None)
        entry.settle(came)

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

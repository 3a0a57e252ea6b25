"""The v2 stream behind a ``StreamInfer``, and the end of each request on it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, Callable, TypeVar, cast

from tritonclient_shim.backends.base import Backend, CallHeaders, Outcome, StreamingBackend
from tritonclient_shim.backends.headers import call_with
from tritonclient_shim.core.errors import (
    BackendError,
    InvalidRequest,
    ServerError,
    StreamEnded,
    TransportError,
)
from tritonclient_shim.core.metadata import MODEL_CONFIGURATION
from tritonclient_shim.core.model import InferCall
from tritonclient_shim.gateway.access_log import AccessRecord
from tritonclient_shim.gateway.upstream.inference import End, Inferences
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.service import status
from tritonclient_shim.session.inference import Inference, Refused, Sendable
from tritonclient_shim.session.streams import RequestStream, SequenceLost, Sequences

T = TypeVar("T")

#: Bytes that a request takes in this process beside its content, on the safe side.
_OVERHEAD = 4096
#: Seconds without an unanswered request after which the v2 stream is closed.
_IDLE = 1.0
_CLOSED = TransportError("its stream was closed")
#: Triton 2.33 ends with a segmentation fault when a request on a stream names a model or a version
#: that it does not have. This is the first release that is known to refuse it (docs/servers.md).
_WITHOUT_CRASH = (2, 39)


def is_fragile(backend: Backend) -> bool:
    """True if the server crashes at such a request. Ask it once per connection."""
    server = backend.known_server()
    if server.fragile_streams is None:
        try:
            metadata = backend.server_metadata()
        except BackendError:  # the stream will report what is wrong
            return False
        server = backend.known_server()
        old = (2,) <= metadata.release < _WITHOUT_CRASH
        server.fragile_streams = old and MODEL_CONFIGURATION in metadata.extensions
    return server.fragile_streams


class StreamedRequest:
    """One request of a stream and, later, its end. It is used in the event loop."""

    __slots__ = ("end", "inference", "record", "size")

    def __init__(self, inference: Inference, size: int) -> None:
        self.inference = inference
        name = inference.model.name
        self.record = AccessRecord("grpc", "StreamInfer", f"StreamInfer {name}", name)
        self.record.received = size
        self.size = _OVERHEAD + size
        self.end: asyncio.Future[End] = asyncio.get_running_loop().create_future()

    def settle(self, end: End) -> None:
        """Note the end of the request. Only the first end counts."""
        if not self.end.done():
            self.end.set_result(end)


class StreamBehind:
    """The v2 stream behind a v1 stream, opened when a request comes."""

    def __init__(self, upstream: Upstream, inference: Inferences, headers: CallHeaders) -> None:
        self._upstream = upstream
        self._headers = headers
        self._inference = inference
        self._loop = asyncio.get_running_loop()
        self._sequences = Sequences()
        self._stream: RequestStream | None = None
        #: The models and versions that a fragile server has; None for any other server.
        self._checked: set[tuple[str, str]] | None = None
        self._number: int | None = None  # of streams that have followed each other without a break
        self._sent: dict[StreamedRequest, RequestStream] = {}  # unanswered requests
        self._next_id = count(1).__next__
        self._resting: asyncio.TimerHandle | None = None
        self._closed = False

    def rest(self) -> None:
        """Close the stream soon, unless another request comes: all requests are answered."""
        self._stay()
        self._resting = self._loop.call_later(_IDLE, self._close_idle)

    def _stay(self) -> None:
        if self._resting is not None:
            self._resting.cancel()

    def _close_idle(self) -> None:
        stream = self._stream
        if stream is not None and not self._sent:
            self._stream = None
            stream.close(wait=False)

    def give_up(self, error: BackendError) -> None:
        """Drop the stream. Its unanswered requests fail."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.cancel()
            self._broken(stream, error)

    def cancel(self) -> None:
        """Drop the v2 stream, after the end of the v1 stream."""
        self._closed = True
        self._stay()
        self.give_up(_CLOSED)

    async def send(self, request: StreamedRequest) -> None:
        """Send one request. Its end is settled, whatever happens."""
        self._stay()
        inference = request.inference = request.inference._replace(headers=self._headers)
        try:
            sendable = inference.prepare_promptly(streaming=True)
            if sendable is None:
                sendable = await self._on_thread(inference.prepare, True)
            sendable = sendable.with_id(str(self._next_id()))
            try:
                await self._send(request, sendable)
            except StreamEnded:  # and so it was not sent
                self._stream = self._number = None
                await self._send(request, sendable)
        except SequenceLost as lost:
            refusal = InvalidRequest(lost.message, "INVALID_ARGUMENT")
            request.settle(Refused(inference, refusal))
        except BackendError as backend_error:
            request.settle(Refused(inference, backend_error))
        except Exception as error:  # the request waits for an answer, whatever has failed
            request.settle(self._upstream.defect(error))

    async def _send(self, request: StreamedRequest, sendable: Sendable) -> None:
        stream = self._stream
        if stream is None or stream.ended:
            stream = await self._inference.on_thread(self._open)
            self._number = stream.number
        call = sendable.call
        if self._checked is not None and (call.model_name, call.model_version) not in self._checked:
            await self._on_thread(self._check, self._checked, call)
        self._sent[request] = stream
        try:
            stream.send(call, partial(self._answered, request, sendable))
        except BackendError:
            self._sent.pop(request, None)
            raise

    async def _on_thread(self, function: Callable[..., T], *arguments: object) -> T:
        """Call the function on a thread. Its questions to Triton have the client's metadata."""
        return await self._inference.on_thread(call_with, self._headers, function, *arguments)

    def _open(self) -> RequestStream:
        """Open a stream, on a thread. Drop it if the v1 stream has ended meanwhile."""
        backend = cast(StreamingBackend, self._upstream.session.backend)
        self._checked = set() if is_fragile(backend) else None
        stream = RequestStream(backend, self._sequences, self._ended, self._number, self._headers)
        self._stream = stream
        if self._closed:
            stream.cancel()
        return stream

    def _check(self, checked: set[tuple[str, str]], call: InferCall) -> None:
        """Ask for the model, on a thread. Raise ServerError, as a stream does, if it is missing."""
        try:
            self._upstream.session.backend.model_config(call.model_name, call.model_version)
        except ServerError as error:
            raise status.of_stream(error) from error
        checked.add((call.model_name, call.model_version))

    # ------------------------------------------------------------- on the v2 stream's thread

    def _answered(self, request: StreamedRequest, sendable: Sendable, outcome: Outcome) -> None:
        if isinstance(outcome, ServerError):
            outcome = status.of_stream(outcome)
        self._in_loop(self._settle, request, sendable.answered(outcome))

    def _ended(self, stream: RequestStream, error: BackendError | None) -> None:
        self._in_loop(self._broken, stream, error)

    def _in_loop(self, function: Any, *arguments: Any) -> None:
        with suppress(RuntimeError):  # the event loop is closed: the gateway has stopped
            self._loop.call_soon_threadsafe(function, *arguments)

    # ------------------------------------------------------------------- in the event loop

    def _settle(self, request: StreamedRequest, end: End) -> None:
        self._sent.pop(request, None)
        request.settle(end)

    def _broken(self, stream: RequestStream, backend_error: BackendError | None) -> None:
        """Fail the requests that a stream has not answered. Without an error, there are none."""
        if stream is self._stream:
            self._stream = None
        if backend_error is not None and self._number == stream.number:
            self._number = None
        error = self._upstream.error_of(backend_error or _CLOSED)
        for request, used in [*self._sent.items()]:
            if used is stream:
                self._settle(request, error)

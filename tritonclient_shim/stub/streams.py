"""``StreamInfer``: responses in the order of the requests, over one stream to the v2 server.

Three threads work together. The pump takes requests from their iterator, which may block for any
time. The stream's reader brings the answers. The consumer waits for its next response.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from functools import partial
from typing import Iterable, cast

from tritonclient_shim.backends.base import Outcome, StreamingBackend
from tritonclient_shim.core.errors import BackendError, InvalidRequest, ServerError, TransportError
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.service import InferService, stream_refusal
from tritonclient_shim.session.inference import Answer, Refused, Sendable
from tritonclient_shim.session.streams import RequestStream, SequenceLost, Sequences

#: Bytes of requests whose responses the consumer has not taken. More requests wait for room.
MAX_UNREAD = 64 * 1024 * 1024

#: Bytes that a request takes in this process beside its content, at most.
OVERHEAD = 4096

CANCELLED = TransportError(
    "GRPC client failed: 1: Locally cancelled by application!", "StatusCode.CANCELLED"
)
ITERATOR_FAILED = TransportError(
    "GRPC client failed: 2: Exception iterating requests!", "StatusCode.UNKNOWN"
)


class _Entry:
    """A request's place in the order and, later, its answer."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.answer: Answer | None = None


class OrderedStream:
    """The requests and responses of a stream. Its threads do not refer to the consumer's object.

    Responses come strictly in the order of the requests, refusals among them.
    """

    def __init__(self, service: InferService) -> None:
        self._service = service
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._entries: deque[_Entry] = deque()  # in order of the requests
        self._unread = 0
        self._next_id = itertools.count(1).__next__
        self._error: BackendError | None = None
        self._stream: RequestStream | None = None
        self.ended = False  # responses may still wait to be taken
        try:
            backend = cast(StreamingBackend, service.session.backend)
            self._stream = RequestStream(backend, Sequences(), lambda _, error: self._end(error))
        except BackendError as error:
            self._end(error)

    def start(self, requests: Iterable[pb.InferRequest]) -> None:
        """Send the requests on a thread, as they come, if the stream could be opened."""
        if self._stream is not None:
            pump, name = partial(self._pump, self._stream, requests), "v1-stream-requests"
            threading.Thread(target=pump, name=name, daemon=True).start()

    # ------------------------------------------------------------------- the pump's thread

    def _pump(self, stream: RequestStream, requests: Iterable[pb.InferRequest]) -> None:
        """Send all requests, and half-close.

        The iterator raises BackendError for an object that is no request, which ends the stream.
        """
        try:
            for request in requests:
                if not self._send(stream, request):
                    return
        except BackendError as error:
            self._drop(stream, error)
        except BaseException:  # of the iterator; Python reports it as for any thread
            self._drop(stream, ITERATOR_FAILED)
            raise
        else:
            stream.close()

    def _send(self, stream: RequestStream, request: pb.InferRequest) -> bool:
        """Send a request. Return False if the stream has ended."""
        inference = self._service.inference(request)
        entry = _Entry(OVERHEAD + request.ByteSize())
        if not self._enter(entry):
            return False
        try:
            sendable = inference.prepare(streaming=True).with_id(str(self._next_id()))
            stream.send(sendable.call, partial(self._answered, entry, sendable))
        except ServerError as error:
            self._settle(entry, Refused(inference, error))
        except SequenceLost as lost:
            refusal = InvalidRequest(lost.message)
            self._settle(entry, Refused(inference, refusal))
        except BackendError as error:
            self._drop(stream, error)
        return True

    def _enter(self, entry: _Entry) -> bool:
        """Append a request when there is room. Return False if the stream has ended."""
        with self._lock:
            self._changed.wait_for(
                lambda: self.ended or not self._unread or self._unread + entry.size <= MAX_UNREAD
            )
            if not self.ended:
                self._unread += entry.size
                self._entries.append(entry)
            return not self.ended

    # ----------------------------------------------------------------- the reader's thread

    def _answered(self, entry: _Entry, sendable: Sendable, outcome: Outcome) -> None:
        if isinstance(outcome, ServerError):
            outcome = stream_refusal(outcome)
        self._settle(entry, sendable.answered(outcome))

    def _settle(self, entry: _Entry, answer: Answer) -> None:
        with self._lock:
            entry.answer = answer
            self._changed.notify_all()

    def _end(self, error: BackendError | None) -> None:
        with self._lock:
            if not self.ended:
                self.ended, self._error = True, error
                self._changed.notify_all()

    def _drop(self, stream: RequestStream, error: BackendError) -> None:
        self._end(error)
        stream.cancel()

    # --------------------------------------------------------------- the consumer's thread

    def take(self) -> pb.InferResponse:
        """Return the next response. Raise StopIteration at the end.

        Raise InferenceServerException of the client family if the stream broke.
        """
        with self._lock:
            self._changed.wait_for(lambda: self._next_answer() is not None or self.ended)
            answer = self._next_answer()
            if answer is None:
                raise self._ending() from self._error
            self._unread -= self._entries.popleft().size
            self._changed.notify_all()
        return self._service.response(answer)

    def _next_answer(self) -> Answer | None:
        return self._entries[0].answer if self._entries else None

    def _ending(self) -> Exception:
        if self._error is None:
            return StopIteration()
        return self._service.session.to_v1_error(self._error)

    def wait(self) -> BackendError | None:
        """Wait for the end of the stream. Return its error, None for a regular end."""
        with self._lock:
            self._changed.wait_for(lambda: self.ended)
            return self._error

    def cancel(self) -> None:
        """Drop the stream at once, unless it has ended: requests without an answer are lost."""
        if self._stream is not None and not self.ended:
            self._drop(self._stream, CANCELLED)

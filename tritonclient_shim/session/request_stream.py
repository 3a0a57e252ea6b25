"""One stream to a server, and the requests on it that await an answer.

Contexts, the raw stub and the gateway all send their streaming requests through this one.
"""

from __future__ import annotations

import threading
from typing import Callable, Dict

from tritonclient_shim.backends.base import CallHeaders, Done, Outcome, StreamingBackend
from tritonclient_shim.core.errors import Fault, TransportFault
from tritonclient_shim.core.model import InferCall
from tritonclient_shim.session.sequences import Sequences

_NOT_OURS = (
    "GRPC client failed: 13: The stream was ended because of an answer for request id '{}', which "
    "is not outstanding on it: a server answers each request once, under its own id. Nobody can "
    "tell whose answer it is; check which server or proxy listens at this address"
)


class _OutstandingRequests(Dict[str, Done]):
    """The requests that await an answer, by the id on the wire, oldest first.

    Senders, the stream's reader and the garbage collector meet here without a lock: each request
    is taken out of the dict by one of them only.
    """

    def answer(self, wire_id: str, outcome: Outcome) -> None:
        """Hand an answer to its request. TransportFault, the end of the stream, if it has none."""
        done = self.pop(wire_id, None)
        if done is None:
            done = self._by_order(wire_id)
        done(outcome)

    def _by_order(self, wire_id: str) -> Done:
        """The oldest request, if the answer names none: streams keep the order of requests.

        An answer that names a request which is not outstanding is no one's. Given to any request
        it could be a wrong result, and dropped it could leave its request without one for ever.
        """
        oldest = "" if wire_id else next(iter(list(self)), "")
        done = self.pop(oldest, None)
        if done is None:
            raise TransportFault(_NOT_OURS.format(wire_id), "StatusCode.INTERNAL")
        return done


class RequestStream:
    """A stream that has been opened. Any thread may send.

    ``on_end(stream, fault)`` is called once, on the stream's thread, with what ended the stream,
    None for a regular end. What becomes of the requests without an answer is its to say, see
    :meth:`fail`. ``number`` is that of the stream which this one continues, if that one was closed
    when everything on it had been answered: then sequences go on. ``headers`` are the stream's own
    metadata.
    """

    def __init__(
        self,
        backend: StreamingBackend,
        sequences: Sequences,
        on_end: Callable[[RequestStream, Fault | None], None],
        number: int | None = None,
        headers: CallHeaders = (),
    ) -> None:
        self.ended = False
        #: True if it was closed for a fork and nothing was lost: another one may continue it.
        self.paused = False
        self._has_ended = threading.Event()
        self._sequences = sequences
        self.number = sequences.next_stream() if number is None else number
        self._outstanding = _OutstandingRequests()
        self._on_end = on_end
        self._stream = backend.open_stream(self._outstanding.answer, self._end, headers)

    def send(self, call: InferCall, done: Done) -> None:
        """Send one request; ``done`` gets its outcome once, on the stream's thread.

        StreamEnded, and no outcome, when the stream takes no more. SequenceLost when the request
        continues a sequence that was open on a stream that has broken.
        """
        if call.sequence_id:
            done = self._sequences.enter(call, self.number, done)
        self._outstanding[call.request_id] = done
        try:
            self._stream.send(call)
        except Fault:
            # otherwise the end of the stream has already been delivered
            if self._outstanding.pop(call.request_id, None) is not None:
                raise

    def _end(self, fault: Fault | None) -> None:
        self.ended = True
        self.paused = self.paused and fault is None
        self._has_ended.set()
        self._on_end(self, fault)

    def fail(self, fault: Fault) -> None:
        """Hand the fault to every request without an answer, the oldest first."""
        for wire_id in list(self._outstanding):  # who comes too late takes its own request back
            done = self._outstanding.pop(wire_id, None)
            if done is not None:
                done(fault)

    def close(self, wait: bool = True) -> None:
        """Half-close, and with ``wait`` wait for the answers to come."""
        self.ended = True
        self._stream.close(wait)

    def pause(self) -> None:
        """Half-close, and let another stream continue this one's sequences."""
        if not self.ended:
            self.paused = True
            self.close(wait=False)

    def wait(self, timeout: float) -> bool:
        """True if the stream ends within the time."""
        return self._has_ended.wait(timeout)

    def cancel(self) -> None:
        """Drop the stream at once; what has not been answered is lost."""
        self._stream.cancel()

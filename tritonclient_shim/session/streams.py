"""Streams of requests: their order, their ids, and what a break means.

A :class:`RequestStream` is one stream to the server, with the requests that await an answer on it.
The gateway opens one for each v1 stream. A streaming context keeps a :class:`ContextStream`, which
opens another one after a break.

If a stream breaks, its requests fail with the error that ended it, and the next request opens
another one: known difference ``stream-after-a-break``. v1 hung for ever (docs/v1-behaviour.md §5).
No sequence goes on over a break: nobody knows which of its requests the server has seen.
"""

from __future__ import annotations

import queue
import sys
import threading
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Callable

from tritonclient_shim.backends.base import Done, Outcome, StreamingBackend
from tritonclient_shim.backends.grpc.forks import Call, calls, pause
from tritonclient_shim.concurrency import forks
from tritonclient_shim.core.errors import (
    INTERPRETER_ENDS,
    BackendError,
    StreamEnded,
    TransportError,
)
from tritonclient_shim.core.model import InferCall, InferReply

#: Sequences that are remembered; a server forgets idle ones after seconds.
MOST = 65536

_LOST = (
    "The stream broke in the midst of sequence {0}: which of its requests the server has seen, "
    "and so the state of the sequence there, is unknown. Start it again: send its first request "
    "with FLAG_SEQUENCE_START"
)
NOT_OURS = (
    "GRPC client failed: 13: The stream was ended because of an answer for request id '{}', which "
    "is not outstanding on it: a server answers each request once, under its own id. Nobody can "
    "tell whose answer it is; check which server or proxy listens at this address"
)
STREAM_CLOSED = "Stream has been closed."

#: Streams of a parent process, kept by its forked child: to drop one could wait for ever for a
#: lock that a thread of the parent held at the fork.
_inherited: list[object] = []


class SequenceLost(TransportError):
    """A request goes on with a sequence that was open on a stream which has broken."""


class Sequences:
    """The latest sequences that have been started, with the number of the stream of each.

    No lock: every step is one operation on the dict.
    """

    def __init__(self) -> None:
        self._stream_of: dict[int, int] = {}
        self.next_stream = count().__next__

    def check(self, call: InferCall, stream: int) -> None:
        """Note the start of a sequence. Raise SequenceLost for one that another stream started."""
        number = call.sequence_id
        if call.sequence_start:
            self._stream_of[number] = stream
            if len(self._stream_of) > MOST:
                with suppress(StopIteration, RuntimeError):  # other threads are at work, too
                    self._stream_of.pop(next(iter(self._stream_of)), None)
        elif self._stream_of.get(number, stream) != stream:
            raise SequenceLost(_LOST.format(number))


class RequestStream:
    """A stream that has been opened. Any thread may send.

    ``on_end(stream, error)`` is called once, on the stream's thread, with the error that ended the
    stream, None for a regular end. It may :meth:`fail` the requests without an answer. ``number``
    is that of a stream whose sequences this one continues.
    """

    def __init__(
        self,
        backend: StreamingBackend,
        sequences: Sequences,
        on_end: Callable[[RequestStream, BackendError | None], None],
        number: int | None = None,
    ) -> None:
        self.ended = False
        #: True if it was closed for a fork and nothing was lost: another one may continue it.
        self.paused = False
        self.has_ended = threading.Event()
        self._sequences = sequences
        self.number = sequences.next_stream() if number is None else number
        #: Receivers of outcomes by wire id, oldest first. Senders, the reader and the garbage
        #: collector meet here without a lock: one of them takes each receiver out.
        self._outstanding: dict[str, Done] = {}
        self._on_end = on_end
        self._stream = backend.open_stream(self._answer, self._end)
        pause(self)

    def send(self, call: InferCall, done: Done) -> None:
        """Send one request; ``done`` gets its outcome once, on the stream's thread.

        StreamEnded, and no outcome, when the stream takes no more. SequenceLost when the request
        continues a sequence that was open on a stream that has broken.
        """
        if call.sequence_id:
            self._sequences.check(call, self.number)
        self._outstanding[call.request_id] = done
        try:
            self._stream.send(call)
        except BackendError:
            # otherwise the end of the stream has already been delivered
            if self._outstanding.pop(call.request_id, None) is not None:
                raise

    def _answer(self, wire_id: str, outcome: Outcome) -> None:
        """Hand an answer to its request. Raise TransportError, which ends the stream, if none fits.

        An answer without id is the oldest request's: streams keep the order of requests. With an
        unknown id it could be a wrong result, or its request would wait for ever.
        """
        done = self._outstanding.pop(wire_id, None)
        if done is None and not wire_id:
            done = self._outstanding.pop(next(iter(list(self._outstanding)), ""), None)
        if done is None:
            raise TransportError(NOT_OURS.format(wire_id), "StatusCode.INTERNAL")
        done(outcome)

    def _end(self, error: BackendError | None) -> None:
        self.ended = True
        self.paused = self.paused and error is None
        self.has_ended.set()
        self._on_end(self, error)

    def fail(self, error: BackendError | None) -> None:
        """Hand the error to every request without an answer, the oldest first; see ``on_end``."""
        error = error or TransportError(STREAM_CLOSED)
        for wire_id in list(self._outstanding):  # who comes too late takes its own request back
            done = self._outstanding.pop(wire_id, None)
            if done is not None:
                done(error)

    def close(self, wait: bool = True) -> None:
        """Half-close, and with ``wait`` wait for the answers to come."""
        self.ended = True
        self._stream.close(wait)

    def before_fork(self) -> None:
        """Half-close, and let another stream continue this one's sequences. No thread of a stream
        survives a fork."""
        if not self.ended:
            self.paused = True
            self.close(wait=False)

    def ends_within(self, timeout: float) -> bool:
        """True if the stream ends within the time."""
        return self.has_ended.wait(timeout)

    def cancel(self) -> None:
        """Drop the stream at once; what has not been answered is lost."""
        self._stream.cancel()


def _leave(entry: Call, done: Done, outcome: Outcome) -> None:
    calls.leave(entry)
    done(outcome)


class ContextStream:
    """The requests of one context, in their order, over one stream as long as it holds."""

    def __init__(self, backend: StreamingBackend) -> None:
        self._backend = backend
        self._sequences = Sequences()
        self._closed = False
        self._opening = forks.Lock()
        self._stream: RequestStream | None = None  # None in a forked child, before its first
        self._open()
        forks.repair(self)

    def _open(self, number: int | None = None) -> RequestStream:
        self._stream = RequestStream(self._backend, self._sequences, RequestStream.fail, number)
        return self._stream

    def infer(self, call: InferCall) -> InferReply:
        """Send one request and wait for its outcome, as v1's run() did on a stream."""
        if sys.is_finalizing():  # the stream's thread has ended
            raise TransportError(INTERPRETER_ENDS)
        outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self.send(call, outcomes.put)
        outcome = outcomes.get()
        if isinstance(outcome, BackendError):
            raise outcome
        return outcome

    def send(self, call: InferCall, done: Done) -> None:
        """Send one request; ``done`` gets its outcome once, on the stream's thread.

        TransportError, and no outcome, when it could not be sent. Nothing is sent twice.
        """
        entry = calls.enter(asynchronous=True)
        try:
            self._send(call, partial(_leave, entry, done))
            entry.detach()
        except BaseException:
            calls.leave(entry)
            raise

    def _send(self, call: InferCall, done: Done) -> None:
        stream = self._stream
        if stream is None or stream.ended:
            stream = self._opened_after(stream)
        try:
            stream.send(call, done)
        except StreamEnded:
            self._opened_after(stream).send(call, done)

    def _opened_after(self, ended: RequestStream | None) -> RequestStream:
        """Return the stream that follows one that has ended, or none: one for all who ask."""
        with self._opening.lock:
            opened = self._stream
            if opened is ended and not self._closed:
                opened = self._open(ended.number if ended and ended.paused else None)
        if self._closed or opened is None:
            self.close(wait=False)
            raise TransportError(STREAM_CLOSED)
        return opened

    def close(self, wait: bool = True) -> None:
        """Half-close, and with ``wait`` wait for what has no answer yet
        (docs/v1-behaviour.md §5).

        Takes no lock: the garbage collector may call it while any other method is at work.
        """
        forks.notice()
        self._closed = True
        stream = self._stream
        if stream is not None:
            stream.close(wait)

    def after_fork(self) -> None:
        """Leave the stream and its sequences to the parent, in a forked child."""
        _inherited.append(self._stream)
        self._stream = None
        self._sequences = Sequences()

"""The stream of one streaming context, and the next one when it breaks.

v1 matched answers by id and hung for ever when the stream broke, and its context never worked
again (docs/v1-behaviour.md §5). Here whatever is outstanding then fails with the fault that ended
the stream, and the next request opens another one: known difference ``stream-after-a-break``.
"""

from __future__ import annotations

import sys
import threading
from typing import Callable

from tritonclient_shim.backends.base import Done, Outcome, StreamingBackend
from tritonclient_shim.core import forks
from tritonclient_shim.core.errors import INTERPRETER_ENDS, Fault, StreamEnded, TransportFault
from tritonclient_shim.core.model import InferCall, InferReply
from tritonclient_shim.session.request_stream import RequestStream
from tritonclient_shim.session.sequences import Sequences

STREAM_CLOSED = "Stream has been closed."

#: Streams of a parent process, kept by its forked child: to drop one could wait for ever for a
#: lock that a thread of the parent held at the fork.
_inherited: list[object] = []


def _fail_all(stream: RequestStream, fault: Fault | None) -> None:
    stream.fail(fault or TransportFault(STREAM_CLOSED))


class ContextStream:
    """The requests of one context, in their order, over one stream as long as it holds.

    ``check`` is called before another stream is opened, and raises Fault where none may be.
    """

    def __init__(self, backend: StreamingBackend, check: Callable[[], object] = bool) -> None:
        self._backend = backend
        self._check = check
        self._sequences = Sequences()
        self._closed = False
        self._opening = forks.Lock()
        self._stream: RequestStream | None = None  # None in a forked child, before its first
        self._open()
        forks.repair(self)
        forks.pause(self)

    def _open(self, number: int | None = None) -> RequestStream:
        self._stream = RequestStream(self._backend, self._sequences, _fail_all, number)
        return self._stream

    def send(self, call: InferCall, done: Done) -> None:
        """Send one request; ``done`` gets its outcome once, on the stream's thread.

        TransportFault, and no outcome, when it could not be sent. Nothing is sent twice.
        """
        entry = forks.calls.enter()

        def leave(outcome: Outcome) -> None:
            forks.calls.leave(entry)
            done(outcome)

        try:
            self._send(call, leave)
            entry.detach()
        except BaseException:
            forks.calls.leave(entry)
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
        """The stream that follows one that has ended, or none: one for all who ask."""
        with self._opening:
            opened = self._stream
            if opened is ended and not self._closed:
                number = None
                if ended is not None and ended.paused:
                    number = ended.number
                elif ended is not None:
                    self._check()
                opened = self._open(number)
        if self._closed or opened is None:
            self.close(wait=False)
            raise TransportFault(STREAM_CLOSED)
        return opened

    def infer(self, call: InferCall) -> InferReply:
        """Send one request and wait for its outcome, as v1's run() did on a stream."""
        if sys.is_finalizing():  # the stream's thread has ended
            raise TransportFault(INTERPRETER_ENDS)
        arrived = threading.Event()
        outcomes: list[Outcome] = []

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            arrived.set()

        self.send(call, done)
        arrived.wait()
        outcome = outcomes[0]
        if isinstance(outcome, Fault):
            raise outcome
        return outcome

    def close(self, wait: bool = True) -> None:
        """Half-close, and with ``wait`` wait for what has no answer yet
        (docs/v1-behaviour.md §5).

        Takes no lock: the garbage collector may call it while any other method is at work.
        """
        self._closed = True
        stream = self._stream
        if stream is not None:
            stream.close(wait)

    def before_fork(self) -> None:
        """Half-close the stream, whose threads a fork does not survive. The next request opens
        another one, and sequences go on."""
        stream = self._stream
        if stream is not None:
            stream.pause()

    def has_paused(self, timeout: float) -> bool:
        """True if the stream ends within the time."""
        stream = self._stream
        return stream is None or stream.wait(timeout)

    def after_fork(self) -> None:
        """In a forked child: the stream is the parent's, and so are its sequences."""
        _inherited.append(self._stream)
        self._stream = None
        self._sequences.forget()

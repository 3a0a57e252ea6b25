"""The stream of one streaming context: every answer finds its request, a broken one included.

v1 matched answers by id and hung for ever when the stream broke, and its context never worked
again (docs/v1-behaviour.md §5). Here whatever is outstanding then fails with the fault that ended
the stream, and the next request opens another one: known difference ``stream-after-a-break``.
"""

from __future__ import annotations

import os
import threading

from tritonclient_shim.backends.base import Done, Outcome, StreamingBackend
from tritonclient_shim.core.errors import Fault, StreamEnded, TransportFault
from tritonclient_shim.core.model import InferCall, InferReply
from tritonclient_shim.session.sequences import Sequences
from tritonclient_shim.session.unanswered import Owed

STREAM_CLOSED = "Stream has been closed."

#: Streams of a parent process, kept by its forked child: to drop one could wait for ever for a
#: lock that a thread of the parent held at the fork.
_inherited: list[object] = []

#: The forks between the first process and this one; asking for the process id takes longer.
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class _OpenStream:
    """One stream to the server, and the requests that it owes an answer."""

    def __init__(self, backend: StreamingBackend, sequences: Sequences) -> None:
        self._sequences = sequences
        self._number = sequences.next_stream()
        self.forks = _forks
        self.ended = False
        self._owed = Owed()
        self._stream = backend.open_stream(self._owed.answer, self._on_end)

    def send(self, call: InferCall, done: Done) -> None:
        """Send one request. StreamEnded, and no outcome, when the stream takes no more."""
        if call.sequence_id:
            done = self._sequences.enter(call, self._number, done)
        self._owed[call.request_id] = done
        try:
            self._stream.send(call)
        except Fault:
            # otherwise the end of the stream has already been delivered
            if self._owed.pop(call.request_id, None) is not None:
                raise

    def close(self, wait: bool) -> None:
        """Half-close, and with ``wait`` wait for what is owed."""
        self.ended = True
        self._stream.close(wait)

    def _on_end(self, fault: Fault | None) -> None:
        self.ended = True
        self._owed.fail(fault or TransportFault(STREAM_CLOSED))


class ContextStream:
    """The requests of one context, in their order, over one stream as long as it holds."""

    def __init__(self, backend: StreamingBackend) -> None:
        self._backend = backend
        self._sequences = Sequences()
        self._closed = False
        #: By forks: a forked child may find its parent's lock locked for ever.
        self._opening: dict[int, threading.Lock] = {}
        self._stream = _OpenStream(backend, self._sequences)

    def send(self, call: InferCall, done: Done) -> None:
        """Send one request; ``done`` gets its outcome once, on the stream's thread.

        TransportFault, and no outcome, when it could not be sent. Nothing is sent twice.
        """
        stream = self._stream
        if stream.ended or stream.forks != _forks:
            stream = self._opened_after(stream)
        try:
            stream.send(call, done)
        except StreamEnded:
            self._opened_after(stream).send(call, done)

    def _opened_after(self, unusable: _OpenStream) -> _OpenStream:
        """The stream that follows one that has ended, or is another process's: one for all."""
        with self._opening.setdefault(_forks, threading.Lock()):
            if self._stream is unusable and not self._closed:
                if unusable.forks != _forks:
                    _inherited.append(unusable)
                    self._sequences.forget()
                self._stream = _OpenStream(self._backend, self._sequences)
            opened = self._stream
        if self._closed:
            self.close(wait=False)
            raise TransportFault(STREAM_CLOSED)
        return opened

    def infer(self, call: InferCall) -> InferReply:
        """Send one request and wait for its outcome, as v1's run() did on a stream."""
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
        """Half-close, and with ``wait`` wait for what is owed (docs/v1-behaviour.md §5).

        A forked child leaves its parent's stream alone. Takes no lock: the garbage collector may
        call it while any other method is at work.
        """
        self._closed = True
        if self._stream.forks == _forks:
            self._stream.close(wait)
        else:
            _inherited.append(self._stream)

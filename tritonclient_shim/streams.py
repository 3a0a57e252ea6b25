"""The stream of one streaming context: every answer finds its request, a broken one included.

v1 matched answers by id and hung for ever when the stream broke (v1 §5); here whatever is
outstanding then fails with the fault that ended the stream.
"""

from __future__ import annotations

import threading
from typing import Callable

from tritonclient_shim.backends.base import Outcome, StreamingBackend
from tritonclient_shim.errors import Fault, TransportFault
from tritonclient_shim.model import InferCall, InferReply

STREAM_CLOSED = "Stream has been closed."

Deliver = Callable[[Outcome], None]


class ContextStream:
    """One open stream and the requests that it still owes an answer, oldest first."""

    def __init__(self, backend: StreamingBackend) -> None:
        # Re-entrant: the garbage collector may close the stream while its reader holds it.
        self._lock = threading.RLock()
        self._owed: dict[str, Deliver] = {}
        self._ended = False
        self._stream = backend.open_stream(self._on_reply, self._on_end)

    def send(self, call: InferCall, deliver: Deliver) -> None:
        """Send one request; ``deliver`` gets its outcome once, on the stream's thread.

        TransportFault, and no delivery, when the stream is closed or broken.
        """
        with self._lock:
            if self._ended:
                raise TransportFault(STREAM_CLOSED)
            self._owed[call.request_id] = deliver
        try:
            self._stream.send(call)
        except Fault:
            with self._lock:
                owed = self._owed.pop(call.request_id, None)
            if owed is not None:  # otherwise the end of the stream has already been delivered
                raise

    @property
    def ended(self) -> bool:
        """Has the stream been closed, or broken?"""
        return self._ended

    def infer(self, call: InferCall) -> InferReply:
        """Send one request and wait for its outcome, as v1's run() did on a stream."""
        arrived = threading.Event()
        outcomes: list[Outcome] = []

        def deliver(outcome: Outcome) -> None:
            outcomes.append(outcome)
            arrived.set()

        self.send(call, deliver)
        arrived.wait()
        outcome = outcomes[0]
        if isinstance(outcome, Fault):
            raise outcome
        return outcome

    def _on_reply(self, request_id: str, outcome: Outcome) -> None:
        with self._lock:
            # An answer that names no request belongs to the oldest: streams keep the order.
            key = request_id or next(iter(self._owed), "")
            deliver = self._owed.pop(key, None)
        if deliver is not None:
            deliver(outcome)

    def _on_end(self, fault: Fault | None) -> None:
        with self._lock:
            self._ended = True
            owed, self._owed = list(self._owed.values()), {}
        for deliver in owed:
            deliver(fault or TransportFault(STREAM_CLOSED))

    def close(self, wait: bool = True) -> None:
        """Half-close, and with ``wait`` wait for what is owed (v1 §5)."""
        with self._lock:
            self._ended = True
        self._stream.close(wait)

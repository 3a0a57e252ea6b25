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
    """One open stream and the requests that it still owes an answer, oldest first.

    Senders, the reader and the garbage collector, which may close the stream while either is at
    work, meet here without a lock: each request is taken out of the dict by one of them only.
    """

    def __init__(self, backend: StreamingBackend) -> None:
        self._owed: dict[str, Deliver] = {}
        self._ended = False
        self._stream = backend.open_stream(self._on_reply, self._on_end)

    def send(self, call: InferCall, deliver: Deliver) -> None:
        """Send one request; ``deliver`` gets its outcome once, on the stream's thread.

        TransportFault, and no delivery, when the stream is closed or broken.
        """
        if self._ended:
            raise TransportFault(STREAM_CLOSED)
        self._owed[call.request_id] = deliver
        try:
            self._stream.send(call)
        except Fault:
            # otherwise the end of the stream has already been delivered
            if self._owed.pop(call.request_id, None) is not None:
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
        # An answer that names no request belongs to the oldest: streams keep the order.
        key = request_id or next(iter(list(self._owed)), "")
        deliver = self._owed.pop(key, None)
        if deliver is not None:
            deliver(outcome)

    def _on_end(self, fault: Fault | None) -> None:
        self._ended = True
        for request_id in list(self._owed):  # who comes too late takes its own request back
            deliver = self._owed.pop(request_id, None)
            if deliver is not None:
                deliver(fault or TransportFault(STREAM_CLOSED))

    def close(self, wait: bool = True) -> None:
        """Half-close, and with ``wait`` wait for what is owed (v1 §5)."""
        self._ended = True
        self._stream.close(wait)

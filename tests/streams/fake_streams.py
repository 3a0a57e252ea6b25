"""Streams without a server: they record requests, and reply and end when a test says so."""

from __future__ import annotations

from typing import Any

from tritonclient_shim.core.errors import BackendError, StreamEnded, TransportError
from tritonclient_shim.core.model import InferCall

LOST = TransportError("GRPC client failed: 14: Socket closed")


def call(number: int, sequence: int = 0, start: bool = False, end: bool = False) -> InferCall:
    return InferCall("m", "", (), (), str(number), sequence, start, end)


class FakeStream:
    """A stream that records its requests, and replies when a test says so."""

    def __init__(self, on_reply: Any, on_end: Any, headers: Any = ()) -> None:
        self.on_reply, self._on_end = on_reply, on_end
        self.sent: list[str] = []
        self.closed: list[bool] = []
        self.takes = True  # until it has ended; its end may be reported later

    def end(self, error: BackendError | None = LOST) -> None:
        """End the stream, and report it."""
        self.takes = False
        self._on_end(error)

    def send(self, call: InferCall) -> None:
        if not self.takes:
            raise StreamEnded(LOST.message)
        self.sent.append(call.request_id)

    def close(self, wait: bool = True) -> None:
        self.closed.append(wait)
        self.takes = False


class FakeBackend:
    """A backend that opens such streams."""

    def __init__(self) -> None:
        self.streams: list[FakeStream] = []

    def open_stream(self, on_reply: Any, on_end: Any) -> FakeStream:
        self.streams.append(FakeStream(on_reply, on_end))
        return self.streams[-1]

    @property
    def latest(self) -> FakeStream:
        return self.streams[-1]

    @property
    def sent(self) -> list[list[str]]:
        """Return the ids of the requests of each stream."""
        return [stream.sent for stream in self.streams]

"""One bidirectional inference stream: a queue to gRPC and a thread that reads the answers.

tritonclient's own stream loses the request id of a refusal and keeps the interpreter from
exiting (v2-mapping §4, §10), so this one works on the channel.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Callable

import grpc

from tritonclient_shim.backends.base import StreamEnd, StreamReply
from tritonclient_shim.backends.grpc_connection import Connection
from tritonclient_shim.backends.grpc_errors import STREAM_CLOSED, call_of, caused, fault_of
from tritonclient_shim.backends.grpc_framing import (
    NO_SHM,
    ShmUse,
    decode_stream_reply,
    encode_request,
    shm_use,
)
from tritonclient_shim.errors import Fault, TransportFault
from tritonclient_shim.model import InferCall

#: Bytes that may wait for the network before ``send`` blocks.
MAX_QUEUED = 64 * 1024 * 1024


class Outbox:
    """The request iterator that gRPC drains: bounded by bytes, closable from both ends."""

    def __init__(self, limit: int = MAX_QUEUED) -> None:
        self._limit = limit
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._open = True
        self._changed = threading.Condition()

    def put(self, body: bytes, wait: bool) -> None:
        """Append; with ``wait``, first until there is room. TransportFault once closed."""
        with self._changed:
            while wait and self._open and self._bytes and self._bytes + len(body) > self._limit:
                self._changed.wait()
            if not self._open:
                raise TransportFault(STREAM_CLOSED)
            self._waiting.append(body)
            self._bytes += len(body)
            self._changed.notify_all()

    def finish(self) -> None:
        """Accept nothing more; what waits is still sent, then the stream is half-closed."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def abandon(self) -> None:
        """Accept nothing more and forget what waits."""
        with self._changed:
            self._open = False
            self._waiting.clear()
            self._changed.notify_all()

    def __iter__(self) -> Outbox:
        return self

    def __next__(self) -> bytes:
        with self._changed:
            while not self._waiting and self._open:
                self._changed.wait()
            if not self._waiting:
                raise StopIteration
            body = self._waiting.popleft()
            self._bytes -= len(body)
            self._changed.notify_all()
            return body


class GrpcStream:
    """An open stream. ``on_reply`` and ``on_end`` run on its one daemon thread.

    ``send`` blocks while :data:`MAX_QUEUED` bytes wait for the network, except on that
    thread; so its caller must not hold a lock that ``on_reply`` takes.
    """

    def __init__(
        self,
        connection: Connection,
        on_reply: StreamReply,
        on_end: StreamEnd,
        on_fault: Callable[[Fault], None],
    ) -> None:
        self._connection = connection  # kept from being closed while the stream lives
        self._on_reply, self._on_end, self._on_fault = on_reply, on_end, on_fault
        self._shm_uses: dict[str, ShmUse] = {}  # by request id, until answered
        self._outbox = Outbox()
        self._closing = False
        self._call: Any = connection.stream(self._outbox)
        # daemon: an open stream must not keep the interpreter from exiting
        self._reader = threading.Thread(target=self._read, name="grpc-stream", daemon=True)
        self._reader.start()

    def send(self, call: InferCall) -> None:
        """Queue one request; TransportFault when the stream is broken or closed."""
        body = encode_request(call)
        use = shm_use(call)
        if use is not NO_SHM:
            self._shm_uses[call.request_id] = use
        self._outbox.put(body, wait=not self._on_reader())

    def close(self, wait: bool = True) -> None:
        """Half-close and wait for the remaining answers; without ``wait``, and on the reader's
        thread, only the former. Idempotent."""
        self._closing = True
        self._outbox.finish()
        if wait and not self._on_reader():
            self._reader.join()

    def cancel(self) -> None:
        """Drop the stream at once; everything unanswered is lost."""
        self._outbox.abandon()
        self._call.cancel()

    def _on_reader(self) -> bool:
        return threading.current_thread() is self._reader

    def _read(self) -> None:
        fault: Fault | None = TransportFault(STREAM_CLOSED)
        try:
            fault = self._read_all()
        finally:  # on_end comes whatever a reply's handling raised
            self._outbox.abandon()
            self._call.cancel()
            if fault is not None:
                self._on_fault(fault)
            self._on_end(fault)

    def _read_all(self) -> Fault | None:
        try:
            for message in self._call:
                self._on_reply(*decode_stream_reply(message, self._shm_use))
        except grpc.RpcError as error:
            return caused(fault_of(*call_of(error)), error)
        except Fault as undecodable:
            return undecodable
        return None if self._closing else TransportFault(STREAM_CLOSED)

    def _shm_use(self, request_id: str) -> ShmUse:
        return self._shm_uses.pop(request_id, NO_SHM)

"""One bidirectional inference stream: a queue to gRPC and a thread that reads the answers.

tritonclient's own stream loses the request id of a refusal and keeps the interpreter from
exiting (docs/v2-mapping.md §4, §10), so this one works on the channel.
"""

from __future__ import annotations

import queue
import sys
import threading
from contextlib import suppress
from typing import Any, Callable, Iterator

import grpc

from tritonclient_shim.backends.base import StreamEnd, StreamReply
from tritonclient_shim.backends.grpc.errors import STREAM_CLOSED, as_backend_error
from tritonclient_shim.backends.grpc.framing import (
    NO_SHM,
    ShmUse,
    decode_stream_reply,
    encode_request,
    shm_use,
)
from tritonclient_shim.core.errors import BackendError, StreamEnded, TransportError, TransportKind
from tritonclient_shim.core.model import InferCall
from tritonclient_shim.core.reading import outcome_of

#: Bytes that may wait for the network before ``send`` blocks.
MAX_QUEUED = 64 * 1024 * 1024
#: What a waiting message costs besides its bytes.
_OVERHEAD = 128


class Outbox:
    """The request iterator that gRPC drains: bounded by bytes, closable from both ends.

    gRPC's side takes no lock. A sender that needs room counts itself as waiting before it looks
    for room: either it sees the room that gRPC's side has made meanwhile, or that side sees the
    count and wakes it.
    """

    def __init__(self, limit: int = MAX_QUEUED) -> None:
        self._limit = limit
        self._messages: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._put = self._taken = 0  # bytes so far, each counted by one side
        self._open = True
        self._error: BackendError | None = None  # why it takes no more
        self._abandoned = False
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiters = 0

    def put(self, body: bytes, wait: bool) -> None:
        """Append; with ``wait``, first until there is room. StreamEnded once closed."""
        size = len(body) + _OVERHEAD
        with self._lock:
            if wait and self._is_full(size):
                self._waiters += 1
                self._changed.wait_for(lambda: not self._is_full(size))
                self._waiters -= 1
            if not self._open:
                raise _ended(self._error)
            self._put += size
            self._messages.put(body)

    def _is_full(self, size: int) -> bool:
        waiting = self._put - self._taken
        return self._open and waiting > 0 and waiting + size > self._limit

    def finish(self) -> None:
        """Accept nothing more; what waits is still sent, then the stream is half-closed."""
        with self._lock:
            self._open = False
            self._messages.put(None)
            self._changed.notify_all()

    def abandon(self, error: BackendError | None = None) -> None:
        """Accept nothing more and forget what waits: a broken stream's context may live on."""
        self._error = self._error or error
        self._abandoned = True
        self.finish()
        with suppress(queue.Empty):
            while True:
                self._messages.get_nowait()
        self._messages.put(None)

    def __iter__(self) -> Outbox:
        return self

    def __next__(self) -> bytes:
        body = self._messages.get()
        if body is None or self._abandoned:
            self._messages.put(None)  # it stays the end
            raise StopIteration
        self._taken += len(body) + _OVERHEAD
        if self._waiters:
            with self._lock:
                self._changed.notify_all()
        return body


def _ended(error: BackendError | None) -> StreamEnded:
    """Return the error of a request that comes after the end of its stream."""
    if error is None:
        return StreamEnded(STREAM_CLOSED)
    kind = getattr(error, "kind", TransportKind.OTHER)
    ended = StreamEnded(str(error), getattr(error, "status", ""), kind)
    ended.__cause__ = error
    return ended


class GrpcStream:
    """An open stream. ``on_reply`` and ``on_end`` run on its one daemon thread.

    ``send`` blocks while :data:`MAX_QUEUED` bytes wait for the network, except on that
    thread; so its caller must not hold a lock that ``on_reply`` takes.
    """

    def __init__(
        self,
        begin: Callable[[Iterator[bytes]], Any],
        on_reply: StreamReply,
        on_end: StreamEnd,
        on_error: Callable[[BackendError], None],
    ) -> None:
        self._on_reply = on_reply
        self._on_end = on_end
        self._on_error = on_error
        self._shm_uses: dict[str, ShmUse] = {}  # by wire id, until answered
        self._outbox = Outbox()
        self._closing = False
        self._call = begin(self._outbox)
        # daemon: an open stream must not keep the interpreter from exiting
        self._reader = threading.Thread(target=self._read, name="grpc-stream", daemon=True)
        self._reader.start()

    def send(self, call: InferCall) -> None:
        """Queue one request; StreamEnded when the stream is broken or closed."""
        body = encode_request(call)
        use = shm_use(call)
        if use is not NO_SHM:
            self._shm_uses[call.request_id] = use
        self._outbox.put(body, wait=not self._on_reader())

    def close(self, wait: bool = True) -> None:
        """Half-close and wait for the remaining answers; without ``wait``, on the reader's thread
        and when the interpreter has ended that thread, only the former. Idempotent."""
        self._closing = True
        self._outbox.finish()
        if wait and not self._on_reader() and not sys.is_finalizing():
            self._reader.join()

    def cancel(self) -> None:
        """Drop the stream at once; everything unanswered is lost."""
        self._outbox.abandon()
        self._cancel_call()

    def _cancel_call(self) -> None:
        getattr(self._call, "cancel", bool)()  # an interceptor's own iterator has no such method

    def _on_reader(self) -> bool:
        return threading.current_thread() is self._reader

    def _read(self) -> None:
        try:
            error = outcome_of(self._read_all)
        except BaseException:  # it ends this thread, and on_end must come all the same
            self._end(TransportError(STREAM_CLOSED))
            raise
        self._end(error)

    def _end(self, error: BackendError | None) -> None:
        self._outbox.abandon(error)
        self._cancel_call()
        if error is not None:
            self._on_error(error)
        self._on_end(error)

    def _read_all(self) -> BackendError | None:
        try:
            for message in self._call:
                self._on_reply(*decode_stream_reply(message, self._shm_use))
        except grpc.RpcError as error:
            return as_backend_error(error)
        return None if self._closing else TransportError(STREAM_CLOSED)

    def _shm_use(self, wire_id: str) -> ShmUse:
        return self._shm_uses.pop(wire_id, NO_SHM)

"""How many gRPC calls the gateway admits at one time: for each kind of call, and of streams.

gRPC's synchronous server gives a thread to a call when the call begins, before its request has
arrived. Clients that open calls and send nothing could so take every thread. Therefore the number
of calls whose requests are awaited is limited for each kind, and beyond the limit the call that
has waited longest is cancelled.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Iterator

import grpc
from google.protobuf.message import DecodeError

from tritonclient_shim.core.daemon_executor import DaemonExecutor

#: Calls of one kind whose requests are awaited at one time.
MAX_PENDING = 256
#: What stands for a request that could not be read.
UNREADABLE = object()
_NOT_READ = "Exception deserializing request!"  # gRPC's own words

#: Seconds that a client has to send its request while calls beyond the limit wait.
_FAIR_WAIT = 1.0


class PendingCalls:
    """The calls of one kind whose requests are awaited. Any thread may use it."""

    def __init__(self, pool: DaemonExecutor, limit: int = MAX_PENDING) -> None:
        self.pool = pool
        self._limit = limit
        self._changed = threading.Condition()
        self._pending: dict[Any, float] = {}  # context → since when, the oldest first

    def request(self, requests: Any, context: Any) -> Any:
        """The one request of a unary call. Ends the call, by an exception, if there is none."""
        with self._changed:
            while len(self._pending) >= self._limit:
                self._make_room()
            self._pending[context] = time.monotonic()
        try:
            request = next(requests, None)
        finally:
            with self._changed:
                self._pending.pop(context, None)
                self._changed.notify()
        if request is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the call ended without its request")
        if request is UNREADABLE:
            context.abort(grpc.StatusCode.INTERNAL, _NOT_READ)
        return request

    def _make_room(self) -> None:
        oldest, since = next(iter(self._pending.items()))
        left = since + _FAIR_WAIT - time.monotonic()
        if left > 0:
            self._changed.wait(left)
        else:
            del self._pending[oldest]
            oldest.cancel()


class UnaryHandler:
    """A unary rpc, registered with gRPC as one that takes a stream of requests.

    On the wire both are the same. If the rpc were registered as unary, gRPC itself would wait for
    the request, without a time limit.
    """

    def __init__(self, answer: Callable[[Any, Any], Any], pending: PendingCalls) -> None:
        self._answer = answer
        self._pending = pending
        self.experimental_thread_pool = pending.pool  # gRPC runs the handler on these threads

    def __call__(self, requests: Any, context: Any) -> Any:
        return self._answer(self._pending.request(requests, context), context)


class StreamHandler:
    """A streaming rpc with a limit of open calls; calls beyond it are refused."""

    def __init__(self, answer: Callable[[Any, Any], Any], limit: int) -> None:
        self._answer = answer
        self._limit = limit
        self._free = threading.Semaphore(limit)
        # There are some threads more than streams, because refusing a call takes a thread too.
        self.experimental_thread_pool = DaemonExecutor(limit + 16, "gateway-streams")

    def __call__(self, requests: Any, context: Any) -> Any:
        if not self._free.acquire(blocking=False):
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._limit} streams are open, as many as this gateway takes: close some, or "
                "start the gateway with a larger --max-streams",
            )
        readable = _ReadableRequests(requests)
        try:
            yield from self._answer(readable, context)
            if readable.ended_early:
                context.abort(grpc.StatusCode.INTERNAL, _NOT_READ)
        finally:
            self._free.release()


class _ReadableRequests(Iterator[Any]):
    """The requests of a stream up to the first that is no such message."""

    def __init__(self, requests: Any) -> None:
        self._requests = requests
        self.ended_early = False

    def __next__(self) -> Any:
        request = next(self._requests)
        if request is UNREADABLE:
            self.ended_early = True
            raise StopIteration
        return request


def deserializer(message_class: Any) -> Callable[[bytes], Any]:
    """The function with which gRPC reads the requests of an rpc.

    It returns UNREADABLE for bytes that are no such message. Were it None, gRPC would end the call
    itself, and a stream once more with its handler: then it takes the call for unfinished, and
    its server never stops (seen with grpcio 1.85).
    """

    def deserialize(data: bytes) -> Any:
        try:
            return message_class.FromString(data)
        except DecodeError:
            return UNREADABLE

    return deserialize

"""gRPC calls on their way in: each kind has threads of its own, and waits for its own requests.

gRPC's synchronous server takes a thread for a call when it begins, not when its request has
come. So that calls which send nothing do not take all threads, the number of those that are
waited for is bounded, and the oldest of them gives way.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

import grpc
from google.protobuf.message import DecodeError

from tritonclient_shim.core.daemon_executor import DaemonExecutor

#: Calls of one kind whose requests are waited for at one time.
MOST = 256
#: Seconds that a client has for its request while others wait for their turn.
_FAIR_WAIT = 1.0


class Arrivals:
    """The calls of one kind; thread-safe."""

    def __init__(self, pool: DaemonExecutor, most: int = MOST) -> None:
        self.pool = pool
        self._most = most
        self._changed = threading.Condition()
        self._waited_for: dict[Any, float] = {}  # context → since when, in order of time

    def request(self, requests: Any, context: Any) -> Any:
        """The one request of a unary call. Ends the call, by an exception, if there is none."""
        with self._changed:
            while len(self._waited_for) >= self._most:
                self._make_room()
            self._waited_for[context] = time.monotonic()
        try:
            request = next(requests, None)
        finally:
            with self._changed:
                self._waited_for.pop(context, None)
                self._changed.notify()
        if request is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the call ended without its request")
        return request

    def _make_room(self) -> None:
        oldest, since = next(iter(self._waited_for.items()))
        left = since + _FAIR_WAIT - time.monotonic()
        if left > 0:
            self._changed.wait(left)
        else:
            del self._waited_for[oldest]
            oldest.cancel()


class Unary:
    """A unary rpc as gRPC calls it: its request comes as a stream of one, the same on the wire.

    As of a unary handler gRPC would wait for the request itself, and for as long as it takes.
    """

    def __init__(self, answer: Callable[[Any, Any], Any], arrivals: Arrivals) -> None:
        self._answer = answer
        self._arrivals = arrivals
        self.experimental_thread_pool = arrivals.pool  # gRPC looks for it

    def __call__(self, requests: Any, context: Any) -> Any:
        return self._answer(self._arrivals.request(requests, context), context)


class Streams:
    """A streaming rpc as gRPC calls it, so many calls at one time; further ones are refused."""

    def __init__(self, answer: Callable[[Any, Any], Any], most: int) -> None:
        self._answer = answer
        self._most = most
        self._free = threading.Semaphore(most)
        # Some threads more than streams: refusing one takes one, too.
        self.experimental_thread_pool = DaemonExecutor(most + 16, "gateway-streams")

    def __call__(self, requests: Any, context: Any) -> Any:
        if not self._free.acquire(blocking=False):
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"{self._most} streams are open, as many as this gateway takes: close some, or "
                "start the gateway with a larger --max-streams",
            )
        try:
            yield from self._answer(requests, context)
        finally:
            self._free.release()


def reader(message_class: Any) -> Callable[[bytes], Any]:
    """What makes a message of bytes; None, upon which gRPC ends the call, when they are none."""

    def read(data: bytes) -> Any:
        try:
            return message_class.FromString(data)
        except DecodeError:
            return None

    return read

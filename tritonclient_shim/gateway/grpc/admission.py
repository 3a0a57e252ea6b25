"""The gRPC calls that have begun and whose requests have not arrived yet.

They hold no slot and no thread, but memory. Therefore a request has a time limit, and beyond a
number of awaited requests the call that has waited longest makes room.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import grpc

#: Requests that are awaited at one time before calls must give way.
MAX_PENDING = 256
#: Seconds that a client has to send its request then.
_FAIR_WAIT = 1.0
#: Seconds between two looks at the time limit.
_SWEEP = 0.25

_GAVE_WAY = (
    "the request did not arrive while more than {0} other calls were waiting to send theirs: "
    "send it again"
)
_LATE = (
    "the request did not arrive within {0:g} seconds: send it again, or start the gateway with a "
    "larger --client-timeout"
)


class AwaitedRequests:
    """The calls of one kind whose requests are awaited. It is used in one event loop."""

    def __init__(self, timeout: float, limit: int = MAX_PENDING) -> None:
        self._timeout = timeout
        self._limit = limit
        self._since: dict[Any, float] = {}  # the task of each call → since when, the oldest first
        self._dismissed: dict[Any, tuple[Any, str]] = {}  # task → code and text for its client
        self._sweeping: asyncio.Task[None] | None = None

    async def request(self, context: Any) -> Any:
        """The one request of a unary call. Ends the call, by an exception, if there is none."""
        call = asyncio.current_task()
        self._since[call] = time.monotonic()
        self._make_room()
        if self._sweeping is None:
            self._sweeping = asyncio.ensure_future(self._sweep())
        try:
            request = await context.read()
        except asyncio.CancelledError:
            if call not in self._dismissed:  # the client has cancelled the call
                raise
            await context.abort(*self._dismissed[call])
        finally:
            self._since.pop(call, None)
            self._dismissed.pop(call, None)
        if request is grpc.aio.EOF:
            await context.abort(
                grpc.StatusCode.INVALID_ARGUMENT, "the call ended without its request"
            )
        return request

    def _make_room(self) -> None:
        if len(self._since) <= self._limit:
            return
        oldest, since = next(iter(self._since.items()))
        if time.monotonic() - since > _FAIR_WAIT:
            self._dismiss(oldest, grpc.StatusCode.CANCELLED, _GAVE_WAY.format(self._limit))

    def _dismiss(self, call: Any, code: Any, text: str) -> None:
        del self._since[call]
        self._dismissed[call] = code, text
        call.cancel()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP)
            self._make_room()
            latest = time.monotonic() - self._timeout
            for call, since in [*self._since.items()]:
                if since > latest:
                    break
                self._dismiss(call, grpc.StatusCode.DEADLINE_EXCEEDED, _LATE.format(self._timeout))

    def close(self) -> None:
        """Look at the time limit no longer."""
        if self._sweeping is not None:
            self._sweeping.cancel()

"""A stop that loses nothing: what the fronts must know of it, and in which order it happens.

1. The gateway tells that it is not ready, and every HTTP answer closes its connection. Everything
   is still accepted and answered: ``drain`` seconds, and then until no request is in progress, but
   for no longer than half the time of grace.
2. The listeners close, HTTP's after it has accepted what has connected. gRPC tells its clients to
   connect elsewhere (GOAWAY).
3. The requests in progress end, within the time of grace.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator

#: Seconds between two looks at what is still in progress.
_LOOK = 0.01
#: Seconds without a new gRPC call after which GOAWAY is sent, and for which it has time to arrive.
_QUIET = 0.05
#: The most seconds for which answers are held back until there are no new calls.
_LONGEST_HOLD = 0.5


class Stopping:
    """Whether the gateway stops, and the requests that are in progress. Used in one event loop."""

    def __init__(self) -> None:
        #: Has the stop begun?
        self.begun = False
        self.in_progress = 0
        self._newest = 0.0
        self._held: asyncio.Event | None = None

    @contextmanager
    def request(self) -> Iterator[None]:
        """A request is in progress inside the ``with`` block."""
        self.in_progress += 1
        self._newest = time.monotonic()
        try:
            yield
        finally:
            self.in_progress -= 1

    async def gate(self) -> None:
        """A gRPC call waits here before it is answered.

        gRPC drops calls that arrive between its decision to stop and the client's learning of it.
        A client that waits for an answer sends nothing on, so answers are held back in between.
        """
        if self._held is not None:
            await self._held.wait()

    async def hold(self) -> None:
        """Hold answers back from now on; returns when no new calls come."""
        self._held = asyncio.Event()
        start = time.monotonic()
        await asyncio.sleep(_QUIET)
        await _until(lambda: time.monotonic() - self._newest > _QUIET, start + _LONGEST_HOLD)

    async def release(self) -> None:
        """Let the answers go, when clients have learnt of the stop."""
        await asyncio.sleep(_QUIET)
        if self._held is not None:
            self._held.set()


async def _until(true: Callable[[], bool], end: float) -> None:
    """Wait for a condition, but not beyond a time of ``time.monotonic``."""
    while not true() and time.monotonic() < end:
        await asyncio.sleep(_LOOK)


async def drain(stopping: Stopping, seconds: float, grace: float) -> float:
    """The first step → the time of ``time.monotonic`` at which the stop has to be complete."""
    stopping.begun = True
    await asyncio.sleep(seconds)
    start = time.monotonic()
    await _until(lambda: not stopping.in_progress, start + grace / 2)
    return start + grace


async def stop_grpc(server: Any, stopping: Stopping, end: float) -> None:
    """Steps 2 and 3 for gRPC. Streams that their clients keep open last until the end."""
    await stopping.hold()
    stopped = asyncio.ensure_future(server.stop(max(end - time.monotonic(), _LOOK)))
    await stopping.release()
    await stopped


async def stop_http(front: Any, end: float) -> None:
    """Steps 2 and 3 for HTTP."""
    await front.close_listener()
    connections = front.connections
    await _until(lambda: not connections.awaits_first(), min(end, time.monotonic() + 1))
    await _until(lambda: not connections.answering, end)
    await front.close()

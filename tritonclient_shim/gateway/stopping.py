"""A stop that loses nothing: the state that the fronts share, and the order of the steps.

1. The gateway reports that it is not ready, and every HTTP response closes its connection. Requests
   are still accepted: for ``drain`` seconds, and then until none is in progress, but at most for
   half the time of grace.
2. The listeners close, HTTP's after it has accepted the clients that have connected. gRPC sends
   GOAWAY, so that its clients connect elsewhere.
3. The requests in progress end, within the time of grace.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Callable

#: Seconds between two looks at the requests in progress.
_LOOK = 0.01
#: Seconds without a new gRPC call before GOAWAY is sent; also the time that it has to arrive.
_QUIET = 0.05
#: The most seconds that responses are held back until no new calls arrive.
_LONGEST_HOLD = 0.5


class CannotListen(OSError):
    """An address cannot be listened on."""


class Stopping:
    """The state of a stop, and the requests in progress. It is used in one event loop.

    A request is in progress inside a ``with`` block.
    """

    def __init__(self) -> None:
        #: True from the beginning of a stop.
        self.begun = False
        self.in_progress = 0
        self._newest = 0.0
        self._held: asyncio.Event | None = None

    def __enter__(self) -> None:
        self.in_progress += 1
        self._newest = time.monotonic()

    def __exit__(self, *raised: object) -> None:
        self.in_progress -= 1

    async def gate(self) -> None:
        """Hold back the response to a gRPC call while the stop begins.

        gRPC drops calls that arrive between its decision to stop and the arrival of GOAWAY at the
        client. A client that waits for a response sends no call meanwhile.
        """
        if self._held is not None:
            await self._held.wait()

    async def hold(self) -> None:
        """Hold back responses from now on. Return when no new calls arrive."""
        self._held = asyncio.Event()
        start = time.monotonic()
        await asyncio.sleep(_QUIET)
        await until(lambda: time.monotonic() - self._newest > _QUIET, start + _LONGEST_HOLD)

    async def release(self) -> None:
        """Send the held responses, when clients have had time to receive GOAWAY."""
        await asyncio.sleep(_QUIET)
        if self._held is not None:
            self._held.set()


async def until(condition: Callable[[], bool], end: float) -> None:
    """Wait for a condition, but not beyond a time of ``time.monotonic``."""
    while not condition() and time.monotonic() < end:
        await asyncio.sleep(_LOOK)


async def drain(stopping: Stopping, seconds: float, grace: float) -> float:
    """Do step 1. Return the time of ``time.monotonic`` when the stop has to be complete."""
    stopping.begun = True
    await asyncio.sleep(seconds)
    start = time.monotonic()
    await until(lambda: not stopping.in_progress, start + grace / 2)
    return start + grace


async def stop_grpc(server: Any, stopping: Stopping, end: float) -> None:
    """Do steps 2 and 3 for gRPC. Streams that their clients keep open last until the end."""
    await stopping.hold()
    stopped = asyncio.ensure_future(server.stop(max(end - time.monotonic(), _LOOK)))
    await stopping.release()
    await stopped

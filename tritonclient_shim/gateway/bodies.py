"""Request bodies while they arrive: a time limit for each, and one sum for all of them.

Nothing is taken for what a client announces. A body takes room for the bytes that have come,
decompressed where they came compressed, and gives it back when its request has been answered.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import Any, Iterator

from tritonclient_shim.protos import request_status_pb2
from tritonclient_shim.service import status as outcomes

#: Bytes per second that a body must bring beyond the time that its client is allowed anyway.
SLOWEST = 1024
#: While others wait for room, a body that is slower than this gives way after so many seconds.
FAIR_RATE = 1024 * 1024
FAIR_WAIT = 1.0
#: Bytes of a body that do not wait for room: when they are counted, they have been read anyway.
SMALL = 64 * 1024

BAD_REQUEST, REQUEST_TIMEOUT = 400, 408


class BodyRefused(Exception):
    """A body that is not taken; ``code`` is the HTTP status."""

    code = BAD_REQUEST
    kind = request_status_pb2.INVALID_ARG

    def status(self, server_id: str, request_id: int) -> Any:
        """v1's status for it."""
        told = outcomes.success(server_id, request_id)
        told.code, told.msg = self.kind, str(self)
        return told


class TooSlow(BodyRefused):
    """A client kept the gateway waiting for its body."""

    code = REQUEST_TIMEOUT
    kind = request_status_pb2.UNAVAILABLE


class ClientLeft(Exception):
    """A client closed its connection in the middle of a body: nobody is there to be told."""


class Body:
    """One body on its way: what of it has come, and how long its client was waited for."""

    __slots__ = ("_content", "_since", "_waited", "arrived", "data", "held")

    def __init__(self, content: Any) -> None:
        self._content = content
        self._waited = 0.0
        self._since: float | None = None
        self.arrived = 0  # bytes as they were sent
        self.held = 0  # bytes in memory, soon or already in ``data``
        self.data = bytearray()

    async def read(self) -> bytes:
        """The bytes that have come since the last call, waiting for some; b"" at the end."""
        self._since = start = time.monotonic()
        try:
            data = await self._content.readany()
        except OSError as error:
            raise ClientLeft from error
        finally:
            self._since = None
        self._waited += time.monotonic() - start
        self.arrived += len(data)
        return bytes(data)

    def silent(self, now: float) -> float:
        """Seconds since the client was last heard of, 0 while it is not waited for."""
        return 0.0 if self._since is None else now - self._since

    def unfair(self, now: float) -> bool:
        """Does the gateway wait for a client that others should not have to wait for?"""
        silent = self.silent(now)
        return silent > FAIR_WAIT or bool(silent) and self.behind(now, FAIR_WAIT, FAIR_RATE)

    def behind(self, now: float, seconds: float, rate: int) -> bool:
        """Has the client taken longer than ``seconds`` and the time for its bytes at a rate?"""
        return self._waited + self.silent(now) > seconds + self.arrived / rate

    def refuse(self, reason: TooSlow) -> None:
        """Have whoever waits for the client's bytes get an error instead."""
        self._content.set_exception(reason)


class Bodies:
    """All bodies that are held at one time; to be made and used in one event loop.

    A body for which there is no room waits for it, in order. So that large bodies which have
    all arrived in part do not wait on each other for ever, one at a time may go beyond the sum.
    """

    def __init__(self, max_bytes: int, timeout: float) -> None:
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._bytes = self._wanted = 0
        self._arriving: dict[Body, None] = {}
        self._ahead: Body | None = None
        self._turn = asyncio.Lock()
        self._room = asyncio.Event()

    @contextmanager
    def receive(self, content: Any) -> Iterator[Body]:
        """A body that is about to be read; at the end of the block its bytes are given back."""
        body = Body(content)
        self._arriving[body] = None
        try:
            yield body
        finally:
            self.arrived(body)
            self._bytes -= body.held
            body.data = bytearray()  # the traceback of an error would keep the old one
            if self._ahead is body:
                self._ahead = None
            self._room.set()

    def arrived(self, body: Body) -> None:
        """A body is complete: its client is waited for no more."""
        self._arriving.pop(body, None)

    async def hold(self, body: Body, size: int) -> None:
        """Take room for more bytes of a body, waiting for it if need be."""
        small = body is self._ahead or body.held + size <= SMALL
        if not small and (self._turn.locked() or not self._fits(size)):
            async with self._turn:
                await self._until_room(body, size)
        self._bytes += size
        body.held += size

    async def _until_room(self, body: Body, size: int) -> None:
        self._wanted = size
        while not self._fits(size) and self._ahead is not None:
            self._room.clear()
            await self._room.wait()
        if not self._fits(size):
            self._ahead = body

    def _fits(self, size: int) -> bool:
        return self._bytes + size <= self._max_bytes

    def sweep(self, now: float) -> None:
        """Refuse the bodies whose clients have used up their time."""
        for body in [*self._arriving]:
            silent = body.silent(now)
            if silent > self._timeout or silent and body.behind(now, self._timeout, SLOWEST):
                body.refuse(TooSlow(self._text(body)))
        if self._turn.locked():
            self.relieve(now, self._bytes + self._wanted - self._max_bytes)

    def relieve(self, now: float, needed: int) -> bool:
        """Have the slowest bodies give way until ``needed`` bytes become free → any found?"""
        slow = [body for body in self._arriving if body.unfair(now)]
        found = False
        for body in sorted(slow, key=lambda one: one.arrived):
            if found and needed <= 0:
                break
            found, needed = True, needed - body.held
            body.refuse(TooSlow(_GAVE_WAY))
        return found

    def _text(self, body: Body) -> str:
        return (
            f"the request body did not arrive in time: {body.arrived} bytes have come, and a "
            f"client may be silent for {self._timeout:g} seconds and must then bring {SLOWEST} "
            "bytes a second: send the request again, or start the gateway with a larger "
            "--client-timeout"
        )


_GAVE_WAY = (
    "the request body arrived too slowly while other requests were waiting for the room that it "
    "took: send it again, or start the gateway with a larger --max-body-bytes or --max-connections"
)

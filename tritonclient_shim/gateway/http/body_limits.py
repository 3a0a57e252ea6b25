"""Limits of HTTP request bodies: a time limit for each, and a limit of memory for all of them.

The memory counts by the bytes that have arrived, after decompression, and not by the size that a
client announces. A body's bytes count until its request has been answered.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import Any, Iterator

from tritonclient_shim.core.model import Buffer
from tritonclient_shim.protos import request_status_pb2
from tritonclient_shim.service import status as outcomes

#: Bytes per second at which a body must arrive. The client's time limit comes on top.
MIN_RATE = 1024
#: While other bodies wait for memory, a body is refused if its client is silent for so many
#: seconds, or that much behind this rate in bytes per second.
FAIR_RATE = 1024 * 1024
FAIR_WAIT = 1.0
#: The first bytes of a body do not wait for memory: they have been read when they are counted.
ADMITTED_AT_ONCE = 64 * 1024

BAD_REQUEST, REQUEST_TIMEOUT = 400, 408


class BodyRefused(Exception):
    """The gateway does not accept a body. ``code`` is the HTTP status of the answer."""

    code = BAD_REQUEST
    kind = request_status_pb2.INVALID_ARG

    def status(self, server_id: str, request_id: int) -> Any:
        """The RequestStatus with which the body's request is refused."""
        refusal = outcomes.success(server_id, request_id)
        refusal.code, refusal.msg = self.kind, str(self)
        return refusal


class TooSlow(BodyRefused):
    """A client took too long to send its body."""

    code = REQUEST_TIMEOUT
    kind = request_status_pb2.UNAVAILABLE


class ClientLeft(Exception):
    """A client closed its connection in the middle of a body, so that nobody gets an answer."""


class Body:
    """One body while it is received: its bytes so far, and how long the gateway has waited."""

    __slots__ = ("_content", "_since", "_waited", "arrived", "held", "pieces")

    def __init__(self, content: Any) -> None:
        self._content = content
        self._waited = 0.0
        self._since: float | None = None
        self.arrived = 0  # bytes received, before decompression
        self.held = 0  # bytes that count as memory; they are in ``pieces``, or about to be
        self.pieces: list[Buffer] = []

    async def read(self) -> bytes:
        """The bytes that have arrived since the last call; b"" at the end. Waits for some."""
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
        """Seconds since the client last sent something; 0 while nothing is expected of it."""
        return 0.0 if self._since is None else now - self._since

    def unfair(self, now: float) -> bool:
        """Is the client so slow that other clients should not have to wait for it?"""
        silent = self.silent(now)
        return silent > FAIR_WAIT or bool(silent) and self.behind(now, FAIR_WAIT, FAIR_RATE)

    def behind(self, now: float, seconds: float, rate: int) -> bool:
        """Has the client taken longer than ``seconds`` plus the time of its bytes at ``rate``?"""
        return self._waited + self.silent(now) > seconds + self.arrived / rate

    def refuse(self, reason: TooSlow) -> None:
        """Raise ``reason`` where the gateway waits for the client's bytes."""
        self._content.set_exception(reason)


class Bodies:
    """All bodies in memory. It is made and used in one event loop.

    Bodies for which there is no memory wait in order. One body at a time may go beyond the limit:
    otherwise large bodies, all received in part, would wait for each other for ever.
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
        """The body to receive. Its memory is free again at the end of the ``with`` block."""
        body = Body(content)
        self._arriving[body] = None
        try:
            yield body
        finally:
            self.arrived(body)
            self._bytes -= body.held
            body.pieces = []  # the traceback of an error would keep the old one
            if self._ahead is body:
                self._ahead = None
            self._room.set()

    def arrived(self, body: Body) -> None:
        """A body is complete: nothing more is expected of its client."""
        self._arriving.pop(body, None)

    async def hold(self, body: Body, size: int) -> None:
        """Count ``size`` more bytes of a body as memory; waits while there is not enough."""
        small = body is self._ahead or body.held + size <= ADMITTED_AT_ONCE
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
        """Refuse the bodies whose clients have exceeded their time limit. Called periodically."""
        for body in [*self._arriving]:
            silent = body.silent(now)
            if silent > self._timeout or silent and body.behind(now, self._timeout, MIN_RATE):
                body.refuse(TooSlow(self._text(body)))
        if self._turn.locked():
            self.relieve(now, self._bytes + self._wanted - self._max_bytes)

    def relieve(self, now: float, needed: int) -> bool:
        """Refuse the slowest bodies until ``needed`` bytes are freed → was any refused?"""
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
            f"client may be silent for {self._timeout:g} seconds and must then bring {MIN_RATE} "
            "bytes a second: send the request again, or start the gateway with a larger "
            "--client-timeout"
        )


_GAVE_WAY = (
    "the request body arrived too slowly while other requests were waiting for the room that it "
    "took: send it again, or start the gateway with a larger --max-body-bytes or --max-connections"
)

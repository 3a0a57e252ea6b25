"""A proxy to a real server that injects one fault at a chosen moment of a call."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any, Awaitable, Callable, NamedTuple

from tests.reliability.http2_frames import FrameCutter

#: Positions in a request and in its answer, in bytes: calls of tests are larger than any of them.
#: The first one is behind the request line, because Triton hangs up when that comes in two pieces.
IN_HEADERS, IN_BODY, IN_ANSWER = 90, 20_000, 20_000

UP, DOWN = "up", "down"  # towards the server, towards the client

#: The moments of a call, in order, and the direction whose bytes show each moment.
MOMENTS = {
    "connect": UP,  # a connection opens
    "headers": UP,  # a few bytes of the request have arrived
    "body": UP,  # half of the request has arrived
    "unanswered": UP,  # all of the request has arrived
    "answering": DOWN,  # half of the reply has arrived
    "idle": UP,  # no call is running
}


class Link:
    """A client's connection, and its connection to the server."""

    def __init__(self, client: Any, server: Any) -> None:
        self.writers = {DOWN: client, UP: server}
        self.cutters = {UP: FrameCutter(preface=True), DOWN: FrameCutter()}
        self.asked = self.answered = 0  # bytes since the fault was armed
        self.complete = False  # all of the request has arrived since then
        self.struck = False
        self.muted = False
        self.marker = b""  # of the fault that has struck
        self.rewrite: Callable[[str, bytes], bytes] = lambda direction, data: data
        self.pace: Callable[[Any, bytes], Awaitable[None]] = write
        self._tail = b""

    def end_of_request(self, data: bytes, marker: bytes) -> int | None:
        """Return the position where the request ends in these bytes, which end with the marker."""
        known = len(self._tail)
        together = self._tail + data
        self._tail = together[-len(marker) :]
        result = together.find(marker)
        return None if result < 0 else result + len(marker) - known

    def close(self) -> None:
        """Close both connections in an orderly way."""
        for writer in self.writers.values():
            if writer is not None:
                writer.close()

    def reset(self) -> None:
        """End both connections with a TCP reset."""
        for writer in self.writers.values():
            if writer is not None:
                writer.transport.abort()


async def write(writer: Any, data: bytes) -> None:
    """Forward bytes at once."""
    writer.write(data)
    await writer.drain()


#: A fault as a function of the link, the direction and the next bytes. It returns the bytes to
#: send.
Act = Callable[[Link, str, bytes], Awaitable[bytes]]


class Armed(NamedTuple):
    """A fault, its moment, and the bytes that end a request."""

    act: Act
    moment: str
    marker: bytes
    times: int  # the connections that it affects
    first: int  # where the moment "headers" is in a request


class FaultProxy:
    """A proxy from a loopback port to ``target`` ("host:port"); a context manager.

    ``arm`` injects a fault from now on, once into each connection; ``struck`` counts them. After
    ``lift`` no further connection is affected; those affected stay as they are.
    """

    def __init__(self, target: str) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._links: list[Link] = []
        self._armed: Armed | None = None
        self.struck = 0
        self.url = ""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        self._listener: Any = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *unused: object) -> None:
        self._do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def arm(
        self,
        act: Act,
        moment: str,
        marker: bytes,
        times: int = 1 << 30,
        first: int = IN_HEADERS,
    ) -> None:
        """Inject the fault at this moment of the requests that end with the marker."""
        self._do(self._arm(Armed(act, moment, marker, times, first)))

    def lift(self) -> None:
        """Inject the fault into no further connection."""
        self._do(self._lift())

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _arm(self, armed: Armed) -> None:
        self.struck = 0
        for link in self._links:
            link.asked = link.answered = 0
            link.complete = link.struck = False
        self._armed = armed
        if armed.moment == "connect":
            for link in self._links:
                link.close()
        elif armed.moment == "idle":
            for link in list(self._links):
                await self._strike(link, UP, b"")
            self._armed = None

    async def _lift(self) -> None:
        self._armed = None

    async def _stop(self) -> None:
        self._listener.close()
        self._armed = None
        for link in self._links:
            link.reset()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: Any, writer: Any) -> None:
        link = Link(writer, None)
        self._links.append(link)
        with suppress(OSError):
            if self._armed is not None and self._armed.moment == "connect":
                await self._strike(link, UP, b"")
            if not writer.is_closing():
                result, link.writers[UP] = await asyncio.open_connection(self._host, self._port)
                await asyncio.gather(self._pump(link, reader, UP), self._pump(link, result, DOWN))
        link.close()
        self._links.remove(link)

    async def _pump(self, link: Link, source: Any, direction: str) -> None:
        sink = link.writers[direction]
        with suppress(OSError):
            while True:
                data = await source.read(1 << 16)
                if not data:
                    break
                await self._pass(link, direction, data)
        if not link.muted and not sink.is_closing():
            sink.close()

    async def _pass(self, link: Link, direction: str, data: bytes) -> None:
        """Forward bytes, changed by the fault from its moment on."""
        place = self._place(link, direction, data)
        if place is not None:
            await self._send(link, direction, data[:place])
            data = await self._strike(link, direction, data[place:])
        await self._send(link, direction, data)

    async def _send(self, link: Link, direction: str, data: bytes) -> None:
        sent = link.rewrite(direction, data)
        link.cutters[direction].feed(data)
        if sent and not link.muted:
            await link.pace(link.writers[direction], sent)

    async def _strike(self, link: Link, direction: str, rest: bytes) -> bytes:
        assert self._armed is not None
        link.struck, link.marker = True, self._armed.marker
        self.struck += 1
        return await self._armed.act(link, direction, rest)

    def _place(self, link: Link, direction: str, data: bytes) -> int | None:
        """Return the position of the armed fault in these bytes, and update the link's counts."""
        armed = self._armed
        before = link.asked if direction == UP else link.answered
        end = link.end_of_request(data, armed.marker) if armed and direction == UP else None
        if direction == UP:
            link.asked += len(data)
        elif link.complete:
            link.answered += len(data)
        link.complete = link.complete or end is not None
        if armed is None or link.struck or self.struck >= armed.times:
            return None
        if MOMENTS[armed.moment] != direction or (direction == DOWN and not link.complete):
            return None
        if armed.moment == "unanswered":
            return end
        at = {"headers": armed.first, "body": IN_BODY, "answering": IN_ANSWER}[armed.moment]
        return at - before if before <= at < before + len(data) else None

"""A proxy to a real server that injects one fault at a chosen moment of a call."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import threading
from contextlib import suppress
from functools import partial
from typing import Any, Awaitable, Callable

#: Bytes of a request or a reply after which the moments ``body`` and ``answering`` come. Calls of
#: tests are larger.
HALF = 20_000
#: The moments of a call, in order.
MOMENTS = (
    "connect",  # a connection opens
    "body",  # half of the request has arrived
    "unanswered",  # all of the request has arrived
    "answering",  # half of the reply has arrived
    "idle",  # no call is running
)
_GARBAGE = bytes(range(128, 256)) + b"\r\n\r\n" + bytes(range(128))
_PIECE = 1024


class Link:
    """A client's connection, and its connection to the server."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.server: Any = None
        self.sent = self.received = 0  # bytes of the request and of its reply
        self.marker = self.tail = b""  # the bytes that end the request, and the last bytes of it
        self.complete = False  # all of the request has arrived
        self.struck = self.muted = self.slow = False
        self.rewrite: Callable[[bytes], bytes] = lambda data: data  # of replies

    async def forward(self, sink: Any, data: bytes) -> None:
        """Send bytes to one side, as the fault allows."""
        if self.muted or not data:
            return
        data = self.rewrite(data) if sink is self.client else data
        for start in range(0, len(data), _PIECE if self.slow else len(data)):
            sink.write(data[start : start + _PIECE] if self.slow else data)
            await sink.drain()
            await asyncio.sleep(0.001 * self.slow)

    def close(self) -> None:
        """Close both connections in an orderly way."""
        for writer in filter(None, (self.client, self.server)):
            writer.close()

    def reset(self) -> None:
        """End both connections with a TCP reset."""
        for writer in filter(None, (self.client, self.server)):
            with suppress(OSError):
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, linger
                )
            writer.transport.abort()


def trickle(link: Link) -> None:
    """Forward only a few bytes at a time from now on."""
    link.slow = True


def black_hole(link: Link) -> None:
    """Forward nothing from now on. Both ends take the connection for open."""
    link.muted = True


def garbage(link: Link) -> None:
    """Send the client bytes without meaning."""
    link.client.write(_GARBAGE)


def duplicate(link: Link) -> None:
    """Send the reply a second time behind the first. A reply ends with its request's last bytes."""
    parts: list[bytes] = []

    def rewrite(data: bytes) -> bytes:
        parts.append(data)
        if link.marker not in data:
            return data
        link.rewrite = lambda data: data
        return data + b"".join(parts)

    link.rewrite = rewrite


def other_length(more: int) -> Callable[[Link], None]:
    """Return a fault that changes the reply's Content-Length."""

    def rewrite(link: Link, data: bytes) -> bytes:
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", data)
        if not length:
            return data
        link.rewrite = lambda data: data
        return data[: length.start(1)] + b"%d" % (int(length[1]) + more) + data[length.end(1) :]

    def act(link: Link) -> None:
        link.rewrite = partial(rewrite, link)

    return act


#: Every fault by its name in the table.
FAULTS: dict[str, Callable[[Link], None]] = {
    "trickle": trickle,
    "black hole": black_hole,
    "reset": Link.reset,
    "close": Link.close,
    "garbage": garbage,
    "duplicate": duplicate,
    "too long": other_length(1000),
    "too short": other_length(-1000),
}


class FaultProxy:
    """A proxy from a loopback port to ``target`` ("host:port"); a context manager.

    ``arm`` injects a fault from now on, once into each connection; ``struck`` counts them. After
    ``lift`` no further connection is affected; those affected stay as they are.
    """

    def __init__(self, target: str) -> None:
        self._target = target.rsplit(":", 1)
        self._links: list[Link] = []
        self._moment, self._marker = "", b""  # of the next fault
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

    def arm(self, fault: str, moment: str, marker: bytes) -> None:
        """Inject the fault at this moment of the requests that end with the marker."""
        self._fault, self._marker = FAULTS[fault], marker
        self._do(self._arm(moment))

    def lift(self) -> None:
        """Inject the fault into no further connection."""
        self._moment = ""

    def _do(self, work: Awaitable[Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)  # type: ignore[arg-type]

    async def _arm(self, moment: str) -> None:
        self.struck = 0
        self._moment = "" if moment == "idle" else moment
        for link in list(self._links):
            link.sent = link.received = 0
            link.tail, link.complete = b"", False
            if moment == "connect":
                link.close()
            elif moment == "idle":
                self._strike(link)

    async def _stop(self) -> None:
        self._listener.close()
        self.lift()
        for link in self._links:
            link.reset()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: Any, writer: Any) -> None:
        link = Link(writer)
        self._links.append(link)
        with suppress(OSError):
            if self._moment == "connect":
                self._strike(link)
            if not writer.is_closing():
                replies, link.server = await asyncio.open_connection(*self._target)
                await asyncio.gather(
                    self._pump(link, reader, link.server), self._pump(link, replies, writer)
                )
        link.close()
        self._links.remove(link)

    async def _pump(self, link: Link, source: Any, sink: Any) -> None:
        with suppress(OSError):
            while True:
                data = await source.read(1 << 16)
                if not data:
                    break
                place = self._place(link, sink is link.client, data)
                if place is not None:
                    await link.forward(sink, data[:place])
                    self._strike(link)
                    data = data[place:]
                await link.forward(sink, data)
        if not link.muted and not sink.is_closing():
            sink.close()

    def _strike(self, link: Link) -> None:
        link.struck, link.marker = True, self._marker
        self.struck += 1
        self._fault(link)

    def _place(self, link: Link, is_reply: bool, data: bytes) -> int | None:
        """Return the position of the armed fault in these bytes, and update the link's counts."""
        if not self._moment or link.struck:
            return None
        if is_reply:
            before = link.received
            link.received += len(data) * link.complete
            wanted = self._moment == "answering" and link.complete
        else:
            before, end = link.sent, self._end(link, data)
            link.sent += len(data)
            if self._moment == "unanswered":
                return end
            wanted = self._moment == "body"
        place = HALF - before
        return place if wanted and 0 <= place < len(data) else None

    def _end(self, link: Link, data: bytes) -> int | None:
        """Return where the request ends in these bytes, if it ends there."""
        marker = self._marker
        place = (link.tail + data).find(marker)
        known, link.tail = len(link.tail), (link.tail + data)[-len(marker) :]
        if link.complete or place < 0:
            return None
        link.complete = True
        return place + len(marker) - known

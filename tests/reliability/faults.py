"""Faults of a connection: each is a function that a FaultProxy calls."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Callable

from tests.backends.http2_server import GRPC_HEADERS, frame, headers, reset
from tests.reliability.fault_proxy import DOWN, UP, Act, Link, write
from tests.reliability.http2_frames import DATA, GOAWAY, SETTINGS, WINDOW

PAUSE = 0.2  # seconds that a delay takes
_GARBAGE = bytes(range(128, 256)) + b"\r\n\r\n" + bytes(range(128))
_INITIAL_WINDOW_SIZE = (4).to_bytes(2, "big")
_ENHANCE_YOUR_CALM, _END_STREAM = 11, 1


async def delay(link: Link, direction: str, rest: bytes) -> bytes:
    """Delay all bytes for a while, in both directions."""
    end = asyncio.get_running_loop().time() + PAUSE

    async def later(writer: Any, data: bytes) -> None:
        await asyncio.sleep(end - asyncio.get_running_loop().time())
        await write(writer, data)

    link.pace = later
    return rest


async def trickle(link: Link, direction: str, rest: bytes) -> bytes:
    """Forward only a few bytes at a time from now on."""

    async def slowly(writer: Any, data: bytes) -> None:
        for start in range(0, len(data), 1024):
            await write(writer, data[start : start + 1024])
            await asyncio.sleep(0.001)

    link.pace = slowly
    return rest


async def black_hole(link: Link, direction: str, rest: bytes) -> bytes:
    """Forward nothing from now on. Both ends take the connection for open."""
    link.muted = True
    return b""


async def abort(link: Link, direction: str, rest: bytes) -> bytes:
    """Send both ends a TCP reset."""
    link.reset()
    return b""


async def close(link: Link, direction: str, rest: bytes) -> bytes:
    """Close both connections in an orderly way, in the middle of a message."""
    link.close()
    return b""


async def half_close(link: Link, direction: str, rest: bytes) -> bytes:
    """Half-close the client's connection: it sees the server's end. The server sees nothing."""
    client = link.writers[DOWN]
    if client.can_write_eof() and not client.is_closing():
        client.write_eof()
    link.rewrite = lambda towards, data: b"" if towards == DOWN else data
    return rest


async def duplicate(link: Link, direction: str, rest: bytes) -> bytes:
    """Send the reply a second time behind the first, up to the end of its data."""
    collected = []

    def rewrite(towards: str, data: bytes) -> bytes:
        if towards == UP:
            return data
        collected.append(data)
        if link.marker not in data:
            return data
        link.rewrite = lambda towards, data: data
        return data + b"".join(collected)

    link.rewrite = rewrite
    return rest


async def garbage(link: Link, direction: str, rest: bytes) -> bytes:
    """Insert bytes without meaning; those for the client go before its reply."""
    if direction == UP and (link.complete or not rest):
        await write(link.writers[DOWN], _GARBAGE)
        return rest
    return _GARBAGE + rest


def wrong_length(more: int) -> Act:
    """Change the reply's stated length."""

    async def act(link: Link, direction: str, rest: bytes) -> bytes:
        def rewrite(towards: str, data: bytes) -> bytes:
            if towards == UP:
                return data
            changed = _other_length(link, data, more)
            if changed != data:
                link.rewrite = lambda towards, data: data
            return changed

        link.rewrite = rewrite
        return rest

    return act


def _other_length(link: Link, data: bytes, more: int) -> bytes:
    """Return these bytes with another Content-Length, or another length of a gRPC message."""
    result = re.search(rb"(?i)\r\ncontent-length: (\d+)", data)
    if result:
        text = b"%d" % (int(result[1]) + more)
        return data[: result.start(1)] + text + data[result.end(1) :]
    place = link.cutters[DOWN].missing
    while place + 14 <= len(data):
        size = int.from_bytes(data[place : place + 3], "big")
        if data[place + 3] == DATA and size >= 5:
            length = max(int.from_bytes(data[place + 10 : place + 14], "big") + more, 0)
            return data[: place + 10] + length.to_bytes(4, "big") + data[place + 14 :]
        place += 9 + size
    return data


def inserted(make: Callable[[int], bytes]) -> Act:
    """Insert frames of HTTP/2 between two of the server's, made for the client's last stream."""

    async def act(link: Link, direction: str, rest: bytes) -> bytes:
        result = make(link.cutters[UP].last_stream)
        if direction == UP and not link.cutters[DOWN].pending:
            await write(link.writers[DOWN], result)
            return rest

        def rewrite(towards: str, data: bytes) -> bytes:
            place = link.cutters[DOWN].missing
            if towards == UP or place > len(data):
                return data
            link.rewrite = lambda towards, data: data
            return data[:place] + result + data[place:]

        link.rewrite = rewrite
        return rest

    return act


def _go_away(stream: int) -> bytes:
    last = (0).to_bytes(4, "big")
    return frame(GOAWAY, 0, 0, last + (0).to_bytes(4, "big"))


def _go_away_later(stream: int) -> bytes:
    return frame(GOAWAY, 0, 0, stream.to_bytes(4, "big") + (0).to_bytes(4, "big"))


def _reset(stream: int) -> bytes:
    return reset(stream, _ENHANCE_YOUR_CALM)


def _trailers(stream: int) -> bytes:
    pairs = (*GRPC_HEADERS, ("grpc-status", "8"), ("grpc-message", "too busy"))
    return headers(stream, pairs, end=True)


def _no_window(stream: int) -> bytes:
    return frame(SETTINGS, 0, 0, _INITIAL_WINDOW_SIZE + (0).to_bytes(4, "big"))


async def starve(link: Link, direction: str, rest: bytes) -> bytes:
    """Stop the client from sending, by the server's flow control."""
    await inserted(_no_window)(link, direction, rest)
    link.rewrite = lambda towards, data: _without(data, WINDOW) if towards == DOWN else data
    return rest


def _without(data: bytes, kind: int) -> bytes:
    """Return the complete frames without those of a kind."""
    kept, place = b"", 0
    while place < len(data):
        end = place + 9 + int.from_bytes(data[place : place + 3], "big")
        kept += b"" if data[place + 3 : place + 4] == bytes([kind]) else data[place:end]
        place = end
    return kept


#: Every fault by its name in the table.
FAULTS: dict[str, Act] = {
    "delay": delay,
    "trickle": trickle,
    "black hole": black_hole,
    "reset": abort,
    "close": close,
    "half-close": half_close,
    "duplicate": duplicate,
    "garbage": garbage,
    "too long": wrong_length(1000),
    "too short": wrong_length(-1000),
    "GOAWAY": inserted(_go_away),
    "GOAWAY, later": inserted(_go_away_later),
    "RST_STREAM": inserted(_reset),
    "trailers only": inserted(_trailers),
    "no window": starve,
}

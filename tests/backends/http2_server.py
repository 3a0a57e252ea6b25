"""An HTTP/2 server by frames, for replies that no gRPC server can be made to send."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import Any, Callable, Iterable, Tuple

Header = Tuple[str, str]

GRPC_HEADERS: tuple[Header, ...] = ((":status", "200"), ("content-type", "application/grpc"))

_PREFACE = 24  # bytes that every client sends first
_DATA, _HEADERS, _RESET, _SETTINGS, _PING = 0, 1, 3, 4, 6
_END_OR_ACK, _END_HEADERS = 1, 4


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + _four(stream) + payload


def _four(number: int) -> bytes:
    return struct.pack(">I", number)


def headers(stream: int, pairs: Iterable[Header], end: bool = False) -> bytes:
    """Return a HEADERS frame; with ``end`` the last of its stream."""
    block = b"".join(b"\0" + _text(name) + _text(value) for name, value in pairs)
    return frame(_HEADERS, _END_HEADERS | (_END_OR_ACK if end else 0), stream, block)


def _text(text: str) -> bytes:
    assert len(text) < 127  # the largest length of one byte
    return bytes([len(text)]) + text.encode()


def message(stream: int, content: bytes, compressed: bool = False, end: bool = False) -> bytes:
    """Return a DATA frame with one gRPC message."""
    framed = bytes([compressed]) + _four(len(content)) + content
    return frame(_DATA, _END_OR_ACK if end else 0, stream, framed)


def reset(stream: int, code: int) -> bytes:
    """Return a RST_STREAM frame."""
    return frame(_RESET, 0, stream, _four(code))


class Http2Server:
    """A server that sends ``answer(stream)`` for each request, to any number of clients."""

    def __init__(self, answer: Callable[[int], bytes]) -> None:
        self._answer = answer
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def connections(self) -> int:
        """Return the number of connections that clients have opened."""
        return len(self._sockets)

    def __enter__(self) -> Http2Server:
        return self

    def __exit__(self, *unused: object) -> None:
        for peer in (self._listener, *self._sockets):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
            peer.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                self._sockets.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client.makefile("rb") as frames:
            frames.read(_PREFACE)
            client.sendall(frame(_SETTINGS, 0, 0))
            while self._exchange(client, frames):
                pass

    def _exchange(self, client: socket.socket, frames: Any) -> bool:
        head = frames.read(9)
        if len(head) < 9:
            return False
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
        payload = frames.read(int.from_bytes(head[:3], "big"))
        if kind in (_SETTINGS, _PING) and not flags & _END_OR_ACK:
            client.sendall(frame(kind, _END_OR_ACK, 0, payload if kind == _PING else b""))
        elif kind == _DATA and payload:  # all requests of tests fit into one frame
            client.sendall(self._answer(stream))
        return True

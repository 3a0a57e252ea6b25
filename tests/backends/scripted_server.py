"""An HTTP server with replies that a test chooses, down to the bytes and the end."""

from __future__ import annotations

import re
import socket
import ssl
import struct
import threading
from contextlib import suppress
from typing import Callable, TypeVar, Union

RESET = "reset"  # end the connection with a TCP reset
CLOSE = "close"  # end it in an orderly way
SILENCE = "silence"  # never answer
TLS_HANDSHAKE = b"\x16"  # the first byte when a client wants TLS: such a connection is closed
CLOSE_AFTER = b"\0close"  # appended to an answer: close the connection when it is sent

Answer = Union[bytes, str]
Self = TypeVar("Self", bound="ScriptedServer")


def http(status: int, body: bytes = b"", *headers: str) -> bytes:
    """Return a complete answer."""
    lines = [f"HTTP/1.1 {status} Text", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class ScriptedServer:
    """Answers each request, the bytes of its head and body, with ``answer(request)``.

    ``requests`` lists the requests, ``connections`` counts connections. A server with
    ``reads_bodies=False`` answers once a head is there, and leaves the rest of the body unread.
    """

    def __init__(
        self,
        answer: Callable[[bytes], Answer],
        port: int = 0,
        context: ssl.SSLContext | None = None,
        reads_bodies: bool = True,
    ) -> None:
        self._answer = answer
        self._reads_bodies = reads_bodies
        self._context = context
        self._sockets: list[socket.socket] = []
        self._latest: socket.socket | None = None
        self.requests: list[bytes] = []
        self.connections = 0
        self.closed_by_client = threading.Semaphore(0)
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Close the listener and every connection; idempotent."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        """Close every connection, as a server does with idle ones."""
        self._latest = None
        self.drop_all_but_latest()

    def drop_all_but_latest(self) -> None:
        """Close every connection except that of the latest request."""
        for peer in list(self._sockets):
            if peer is self._latest:
                continue
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
            peer.close()
            self._sockets.remove(peer)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.stop()

    def _accept(self) -> None:
        while True:
            try:
                connection, _peer = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            self._sockets.append(connection)
            while self._exchange(connection):
                pass
        except OSError:
            connection.close()

    def _exchange(self, connection: socket.socket) -> bool:
        request = _receive(connection, self._reads_bodies)
        if not request:
            connection.close()
            self.closed_by_client.release()
            return False
        self._latest = connection
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, bytes):
            connection.sendall(answer.replace(CLOSE_AFTER, b""))
            if not answer.endswith(CLOSE_AFTER):
                return True
            answer = CLOSE
        if answer == SILENCE:
            return True
        if answer == RESET:
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        connection.close()
        return False


def _receive(connection: socket.socket, reads_body: bool) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        received = connection.recv(1 << 16)
        data += received
        if not received or data.startswith(TLS_HANDSHAKE):
            return b""
    head, _blank, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    while reads_body and length and len(body) < int(length[1]):
        received = connection.recv(1 << 20)
        if not received:
            return b""
        body += received
    return head + b"\r\n\r\n" + body

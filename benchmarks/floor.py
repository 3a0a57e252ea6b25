"""The floor: the same bytes over a bare loopback socket, one copy each way."""

from __future__ import annotations

import multiprocessing
import socket
from typing import Any


class Echo:
    """A process that answers so many received bytes with so many of its own."""

    def __init__(self, request: int, response: int) -> None:
        self._sent = memoryview(bytearray(request))
        self._response = response
        listener = socket.create_server(("127.0.0.1", 0))
        context = multiprocessing.get_context("fork")
        self._process: Any = context.Process(
            target=_serve, args=(listener, request, response), daemon=True
        )
        self._process.start()
        self._socket = socket.create_connection(listener.getsockname())
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.close()

    def call(self) -> None:
        """Copy the request, send it, receive the response."""
        self._socket.sendall(bytes(self._sent))
        _receive(self._socket, memoryview(bytearray(self._response)))

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.join(5)


def _receive(connection: socket.socket, into: memoryview) -> bool:
    while into:
        count = connection.recv_into(into)
        if not count:
            return False
        into = into[count:]
    return True


def _serve(listener: socket.socket, request: int, response: int) -> None:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received, answer = memoryview(bytearray(request)), bytes(response)
    while _receive(connection, received):
        connection.sendall(answer)

"""The floor: the same bytes over a plain loopback socket, one copy each way.

The other end is a process of its own. It ends when its socket closes, and so whenever and
however this process ends.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


class Echo:
    """Sends so many bytes and receives so many others."""

    def __init__(self, request: int, response: int, closing: ExitStack) -> None:
        self._request = np.ones(request, np.uint8)
        self._response = response
        self._socket, theirs = _connected()
        with theirs:
            number = theirs.fileno()
            arguments = [str(value) for value in (number, request, response)]
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.floor", *arguments],
                pass_fds=[number],
                cwd=ROOT,
            )
        closing.callback(self._close)

    def call(self) -> None:
        """Copy the request, send it, receive the response."""
        self._send()
        self._receive(self._response)

    def _send(self) -> None:
        self._socket.sendall(self._request.copy())

    def _receive(self, count: int) -> None:
        if not _filled(self._socket, np.empty(count, np.uint8).data):
            raise ConnectionError("the floor's other process has ended")

    def _close(self) -> None:
        self._socket.close()
        self.process.wait(10)


class Pipeline(Echo):
    """So many echoes, none waiting for the one before."""

    def __init__(self, request: int, response: int, count: int, closing: ExitStack) -> None:
        super().__init__(request, response, closing)
        self._count = count

    def call(self) -> None:
        """Send every request on its own; receive the responses meanwhile, as they come."""
        sender = threading.Thread(target=self._send_all)
        sender.start()
        self._receive(self._count * self._response)
        sender.join()

    def _send_all(self) -> None:
        for _ in range(self._count):
            self._send()


class Region:
    """What shared memory cannot save: one copy in, one copy out, and a message in between."""

    def __init__(self, size: int, closing: ExitStack) -> None:
        self._values, self._given, self._taken = (np.ones(size, np.uint8) for _ in range(3))
        self._echo = Echo(64, 64, closing)

    def call(self) -> None:
        """Fill one block of memory, say so, copy another."""
        np.copyto(self._given, self._values)
        self._echo.call()
        self._taken.copy()


def _connected() -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    for one in (ours, theirs):
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ours, theirs


def _filled(connection: socket.socket, into: memoryview) -> bool:
    """Receive until ``into`` is full; False when the other end has closed before."""
    while into:
        count = connection.recv_into(into)
        if not count:
            return False
        into = into[count:]
    return True


def _answer(connection: socket.socket, request: int, response: int) -> None:
    received, answer = memoryview(bytearray(request)), bytes(response)
    try:
        while _filled(connection, received):
            connection.sendall(answer)
    except ConnectionError:
        pass  # it closed while an answer was on its way


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the benchmark; this ends with it
    _number, _request, _response = map(int, sys.argv[1:])
    _answer(socket.socket(fileno=_number), _request, _response)

"""A door in front of a server that can be shut in the midst of a request, and opened again."""

from __future__ import annotations

import contextlib
import socket
import threading


class Door:
    """Forwards a loopback port to ``address``; a context manager."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._target = (host, int(port))
        self._sockets: list[socket.socket] = []
        self._listener: socket.socket | None = None
        self._port = 0
        self.connections = 0
        self.open()

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()

    @property
    def url(self) -> str:
        """Return the address of this side of the door, the same for ever."""
        return f"127.0.0.1:{self._port}"

    def open(self) -> None:
        """Let connections through."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen(64)
        self._port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def shut(self) -> None:
        """Cut every connection and refuse new ones."""
        listener, self._listener = self._listener, None
        if listener is not None:
            _end(listener)
        self.cut()

    def cut(self) -> None:
        """Cut every connection; new ones are let through."""
        present, self._sockets = self._sockets, []
        for item in present:
            _end(item)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(self._target)
                self.connections += 1
                self._sockets += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            data = source.recv(65536)
            if not data:
                break
            sink.sendall(data)
    _end(sink)


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()

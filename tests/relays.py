"""Relays between a client and a server: a TLS terminator, a byte counter, a proxy."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from typing import Any, Callable


class Relay:
    """Passes bytes on to ``target`` ("host:port"); ``sent`` and ``received`` count them.

    With ``context`` it speaks TLS to the client and none to the server. With ``is_proxy`` the
    target is what the client names in CONNECT, kept in ``asked``. While ``flows`` is cleared
    every connection is silent: it is open and accepted, and nothing passes. While
    ``replies`` is cleared, what the server sends waits. After `shut` new connections are refused,
    until `open`.
    """

    def __init__(
        self,
        target: str,
        context: ssl.SSLContext | None = None,
        is_proxy: bool = False,
        place: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self._target, self._context, self._is_proxy = target, context, is_proxy
        self.sent = self.received = self.connections = 0
        self.flows, self.replies = threading.Event(), threading.Event()
        self.flows.set()
        self.replies.set()
        self.asked: list[bytes] = []
        self._sockets: list[Any] = []
        self._cuts = 0
        self._lock = threading.Lock()  # of both
        self._awaited: tuple[bytes, Callable[[], None]] | None = None
        self._place = place
        self.open()
        self.address = f"{place[0]}:{self.port}"

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *unused: object) -> None:
        self.shut()
        self.flows.set()
        self.replies.set()

    @property
    def port(self) -> int:
        """Return the port that clients connect to, also while it is shut."""
        return self._place[1]

    def open(self) -> None:
        """Accept connections, on the same port as before."""
        self._listener = socket.create_server(self._place)
        self._place = self._listener.getsockname()[:2]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def shut(self) -> None:
        """End every connection, and refuse new ones."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def when_sent(self, text: bytes, action: Callable[[], None]) -> None:
        """Call ``action`` once, after bytes with ``text`` have passed, before their reply."""
        self._awaited = (text, action)

    def _act(self, action: Callable[[], None]) -> None:
        action()
        self.replies.set()

    def lead_to(self, target: str) -> None:
        """Pass bytes on to another target from now on, as if another server had been started."""
        self._target = target
        self.cut()

    def cut(self) -> None:
        """End every connection; new ones are let through."""
        with self._lock:
            self._cuts += 1
            sockets, self._sockets = self._sockets, []  # a client may connect anew at once
        for item in sockets:
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client = listener.accept()[0]
                self.connections += 1
                accepted = (client, listener, self._cuts)
                threading.Thread(target=self._serve, args=accepted, daemon=True).start()

    def _serve(self, client: Any, listener: socket.socket, cuts: int) -> None:
        target = self._target
        try:
            if self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
            if self._is_proxy:
                target = self._connect_target(client)
            host, port = target.rsplit(":", 1)
            server = socket.create_connection((host, int(port)))
        except OSError:
            client.close()
            return
        with self._lock:
            is_cut = cuts != self._cuts or listener.fileno() == -1  # while it was being made
            self._sockets += [] if is_cut else [client, server]
        if is_cut:
            client.close()
            server.close()
            return
        threading.Thread(target=self._pass, args=(server, client, "received"), daemon=True).start()
        self._pass(client, server, "sent")

    def _connect_target(self, client: Any) -> str:
        head = b""
        while b"\r\n\r\n" not in head:
            received = client.recv(4096)
            head += received
            if not received:
                raise ConnectionResetError
        self.asked.append(head)
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return head.split(b" ")[1].decode()

    def passed(self, data: bytes) -> bytes:
        """Return the bytes to send on for received bytes, from either side. May wait."""
        self.flows.wait()
        return data

    def _pass(self, source: Any, sink: Any, counter: str) -> None:
        with suppress(OSError):
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                data = self.passed(data)
                awaited = self._awaited if counter == "sent" else None
                if awaited is not None and awaited[0] in data:
                    self._awaited = None
                    self.replies.clear()
                    threading.Timer(0.1, self._act, (awaited[1],)).start()
                if counter == "received":
                    self.replies.wait()
                setattr(self, counter, getattr(self, counter) + len(data))
                sink.sendall(data)
        for item in (source, sink):
            with suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)

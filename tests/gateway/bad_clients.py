"""Raw HTTP connections, for clients that keep a gateway waiting or send other bytes than HTTP."""

from __future__ import annotations

import socket
from http.client import HTTPConnection

from tests.gateway.gateway_process import PATIENCE, Answer, Gateway, read_answer
from tests.gateway.grpc_requests import SIMPLE


def head(*fields: str, path: str = "/api/infer/simple", header: str = SIMPLE) -> bytes:
    """Return the head of an inference request, with further header fields."""
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"NV-InferRequest: {header}", *fields, "", ""]
    return "\r\n".join(lines).encode()


class Raw:
    """A connection to a gateway or an address, which may send any bytes."""

    def __init__(self, gateway: Gateway | str, data: bytes = b"") -> None:
        address = gateway if isinstance(gateway, str) else gateway.http
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.socket.sendall(data)

    def send(self, data: bytes) -> None:
        """Send all bytes."""
        self.socket.sendall(data)

    def push(self, data: bytes, seconds: float = 1.0) -> int:
        """Send until the gateway reads nothing for some time. Return the number of bytes sent."""
        self.socket.settimeout(seconds)
        sent = 0
        try:
            while sent < len(data):
                sent += self.socket.send(data[sent : sent + 65536])
        except OSError:  # the gateway reads no more, or has closed the connection
            pass
        self.socket.settimeout(PATIENCE)
        return sent

    def answer(self) -> Answer:
        """Return the next answer."""
        connection = HTTPConnection("gateway")
        connection.sock = self.socket.dup()
        connection._HTTPConnection__state = "Request-sent"  # type: ignore[attr-defined]
        try:
            return read_answer(connection)
        finally:
            connection.close()

    def rest(self) -> bytes:
        """Return all bytes until the connection closes. Raise TimeoutError if it stays open."""
        data = b""
        try:
            while more := self.socket.recv(65536):
                data += more
        except ConnectionResetError:
            pass
        return data

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)

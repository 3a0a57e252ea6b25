"""Servers that the testbed does not offer: a server that failed to start, and a foreign server."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Iterator

from testbed import environment
from testbed.launcher import on_loopback
from testbed.process import Launch, RunningServer

_SERVING = ("Started GRPCInferenceService at", "Started HTTPService at")


class FailedServer(RunningServer):
    """A Triton that could not read its repository and keeps running."""

    def answers(self) -> bool:
        """True if the server accepts a connection. It is never ready."""
        return _accepts(int(self.http.rpartition(":")[2]))


def start_failed_server() -> FailedServer:
    """Return a server that answers and failed to start; the caller ends it."""
    prepared = environment.prepare()

    def launch(folder: str, http_port: int, grpc_port: int) -> Launch:
        command = [
            prepared.server,
            f"--model-repository={folder}/missing",
            "--exit-on-error=false",
            *on_loopback(http_port, grpc_port),
            "--id=inference:0",
        ]
        return Launch(command, prepared.variables(), _SERVING)

    return FailedServer(launch)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


class ForeignServer:
    """A server that answers every request with one status and body, and records the requests."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body = body
        self.requests: list[tuple[str, str, list[tuple[str, str]]]] = []
        self.url = ""


@contextmanager
def foreign_server(
    status: int = 200, body: bytes = b"<html>hello</html>"
) -> Iterator[ForeignServer]:
    """Yield an HTTP server on a free loopback port that is no inference server."""
    foreign = ForeignServer(status, body)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            foreign.requests.append((self.command, self.path, self.headers.items()))
            self.send_response(foreign.status)
            self.send_header("Content-Length", str(len(foreign.body)))
            self.end_headers()
            self.wfile.write(foreign.body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    foreign.url = f"127.0.0.1:{server.server_port}"
    try:
        yield foreign
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

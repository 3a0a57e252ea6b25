"""Servers that tests need and the testbed does not offer: one that failed, and a foreign one."""

from __future__ import annotations

import socket
import threading
import uuid
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Iterator

from testbed import environment
from testbed.process import Process, RunningServer, with_free_ports

_SERVING = ("Started GRPCInferenceService at", "Started HTTPService at")


class FailedServer(RunningServer):
    """A Triton that could not read its repository and stayed all the same."""


def start_failed_server() -> FailedServer:
    """Return a server that answers and failed to start; the caller stops it."""
    prepared = environment.prepare()

    def attempt(folder: str, http_port: int, grpc_port: int) -> FailedServer:
        command = [
            prepared.server,
            f"--model-repository={folder}/missing",
            "--exit-on-error=false",
            "--http-address=127.0.0.1",
            f"--http-port={http_port}",
            "--grpc-address=127.0.0.1",
            f"--grpc-port={grpc_port}",
            "--allow-metrics=false",
            "--exit-timeout-secs=2",
            "--id=inference:0",
        ]
        process = Process(command, prepared.variables(), folder, f"failed_{uuid.uuid4().hex}_")
        _wait_until_serving(process, http_port)
        return FailedServer(process, http_port, grpc_port)

    return with_free_ports(attempt)


def _wait_until_serving(process: Process, http_port: int) -> None:
    pause = threading.Event()
    for _ in range(3000):
        if all(mark in process.log for mark in _SERVING) and _accepts(http_port):
            return
        pause.wait(0.02)
    process.kill()
    raise AssertionError("the server that fails to start did not even serve that")


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


class ForeignServer:
    """Answers every request with one status and body, and keeps what it was asked."""

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
            """Keep quiet."""

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

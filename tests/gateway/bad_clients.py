"""Clients that keep a gateway waiting: raw HTTP connections, and gRPC calls that send nothing."""

from __future__ import annotations

import gzip
import queue
import socket
import time
from http.client import HTTPConnection
from typing import Any, Callable

import grpc
import numpy as np

from tests.gateway.gateway_process import Answer, Gateway, read_answer
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

SIMPLE = 'batch_size: 1 input { name: "INPUT0" dims: 16 } input { name: "INPUT1" dims: 16 }'
BODY = np.arange(32, dtype=np.int32).tobytes()
#: What a body may need to arrive, and more than any answer takes here.
PATIENCE = 30.0


def head(*fields: str, path: str = "/api/infer/simple", header: str = SIMPLE) -> bytes:
    """The head of an inference request, with further header fields."""
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"NV-InferRequest: {header}", *fields, "", ""]
    return "\r\n".join(lines).encode()


class Raw:
    """A connection on which anything may be sent."""

    def __init__(self, gateway: Gateway, data: bytes = b"") -> None:
        host, _, port = gateway.http.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.socket.sendall(data)

    def send(self, data: bytes) -> None:
        """Send everything."""
        self.socket.sendall(data)

    def push(self, data: bytes, seconds: float = 1.0) -> int:
        """Send what the gateway takes, until it has taken nothing for some time → bytes sent."""
        self.socket.settimeout(seconds)
        sent = 0
        try:
            while sent < len(data):
                sent += self.socket.send(data[sent : sent + 65536])
        except OSError:  # it takes no more, or has closed the connection
            pass
        self.socket.settimeout(PATIENCE)
        return sent

    def answer(self) -> Answer:
        """The answer that comes."""
        connection = HTTPConnection("gateway")
        connection.sock = self.socket.dup()
        connection._HTTPConnection__state = "Request-sent"  # type: ignore[attr-defined]
        try:
            return read_answer(connection)
        finally:
            connection.close()

    def rest(self) -> bytes:
        """All that comes until the gateway closes the connection; TimeoutError if it does not."""
        data = b""
        try:
            while True:
                more = self.socket.recv(65536)
                if not more:
                    return data
                data += more
        except ConnectionResetError:
            return data

    def close(self) -> None:
        """Leave."""
        self.socket.close()


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def zeros(count: int) -> bytes:
    """So many zero bytes, compressed by gzip to a thousandth."""
    return gzip.compress(bytes(count))


def resident(gateway: Gateway) -> int:
    """Bytes of memory that a gateway has."""
    with open(f"/proc/{gateway.process.pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) * 1024


def highest(gateway: Gateway) -> int:
    """The most bytes of memory that a gateway has had so far."""
    with open(f"/proc/{gateway.process.pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def until(true: Callable[[], bool]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def reachable(address: str) -> bool:
    """Does somebody answer HTTP at an address, and take health for good?"""
    connection = HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", "/api/health/live")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


class SilentCalls:
    """Calls of one rpc on one channel that have been opened and send nothing."""

    def __init__(self, gateway: Gateway, rpc: str, count: int) -> None:
        self._channel = grpc.insecure_channel(
            gateway.grpc, options=[("grpc.use_local_subchannel_pool", 1)]
        )
        row = {**v1.RPCS, **v1.RETIRED_RPCS}[rpc]
        invoke = self._channel.stream_stream(
            f"/{v1.SERVICE}/{rpc}", row.request.SerializeToString, row.response.FromString
        )
        self.requests: list[queue.Queue[Any]] = [queue.Queue() for _ in range(count)]
        self.calls = [invoke(iter(requests.get, None)) for requests in self.requests]

    def __enter__(self) -> SilentCalls:
        return self

    def __exit__(self, *raised: object) -> None:
        for call in self.calls:
            call.cancel()
        for requests in self.requests:
            requests.put(None)
        self._channel.close()


def health() -> pb.HealthRequest:
    """Is the server alive?"""
    return pb.HealthRequest(mode="live")

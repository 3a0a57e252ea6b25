"""Limits of connections: their number, their age, calls on each, and pings."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, until
from tests.gateway.gateway_process import StartGateway, code_of, read_answer
from tests.gateway.grpc_requests import simple
from tests.relays import Relay
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

pytest_plugins = ["tests.gateway.gateway_fixtures"]


class Client:
    """A gRPC client with a connection of its own."""

    def __init__(self, address: str, **options: int) -> None:
        named = [(f"grpc.{name}", value) for name, value in options.items()]
        self.channel = grpc.insecure_channel(
            address, [("grpc.use_local_subchannel_pool", 1), *named]
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *raised: object) -> None:
        self.channel.close()

    def infer(self, timeout: float = 60, request: Any = None) -> str:
        """v1's code of an inference, or the status of gRPC."""
        row = v1.RPCS["Infer"]
        call = self.channel.unary_unary(
            f"/{v1.SERVICE}/Infer", row.request.SerializeToString, row.response.FromString
        )
        try:
            return code_of(call(request or simple(), timeout=timeout).request_status)
        except grpc.RpcError as error:
            return str(error.code().name)

    def stream(self) -> Stream:
        """A StreamInfer that has answered one request and stays open."""
        return Stream(self.channel)


class Stream:
    """One open StreamInfer."""

    def __init__(self, channel: Any) -> None:
        row = v1.RPCS["StreamInfer"]
        self._end = threading.Event()
        open_stream = channel.stream_stream(
            f"/{v1.SERVICE}/StreamInfer", row.request.SerializeToString, row.response.FromString
        )
        self.call = open_stream(self._requests())
        assert code_of(next(self.call).request_status) == "SUCCESS"

    def _requests(self) -> Any:
        yield simple()
        self._end.wait()

    def end(self) -> None:
        """End it."""
        self._end.set()
        assert [*self.call] == []


@pytest.mark.skipif(
    tuple(map(int, grpc.__version__.split(".")[:2])) < (1, 70),
    reason="this grpcio has no limit of connections (docs/gateway.md)",
)
def test_grpc_connections_are_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Beyond --max-connections a gRPC client cannot connect; it can when another one has left."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-connections", "3")
    with ExitStack() as stack:
        first, *others = (stack.enter_context(Client(gateway.grpc)) for _ in range(3))
        assert [one.infer() for one in (first, *others)] == ["SUCCESS"] * 3
        assert _new_client(gateway.grpc) == "UNAVAILABLE"
        first.channel.close()
        until(lambda: _new_client(gateway.grpc) == "SUCCESS")


def _new_client(address: str) -> str:
    with Client(address) as client:
        return client.infer()


def test_calls_on_a_connection_are_bounded(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """Beyond --max-calls-per-connection a client waits, and other connections do not."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-calls-per-connection", "2")
    with Client(gateway.grpc) as busy, Client(gateway.grpc) as other:
        streams = [busy.stream(), busy.stream()]
        assert busy.infer(1) == "DEADLINE_EXCEEDED"
        assert other.infer() == "SUCCESS"
        streams[0].end()
        assert busy.infer() == "SUCCESS"
        streams[1].end()


def test_grpc_connections_have_an_age(behind: TritonServer, start_gateway: StartGateway) -> None:
    """After --max-connection-age a client makes another connection, and loses no call."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-connection-age", "0.5")
    with Relay(gateway.grpc) as relay, Client(relay.address) as client:
        stream = client.stream()
        until(lambda: client.infer() != "SUCCESS" or relay.connections >= 3)
        assert client.infer() == "SUCCESS"
        stream.end()  # which has outlived its connection's age


def test_http_connections_have_an_age(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The first answer after --max-connection-age closes its connection."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-connection-age", "1.5")
    connection = HTTPConnection(gateway.http, timeout=30)
    told = []
    for pause in (0.0, 1.6):
        time.sleep(pause)
        connection.request("POST", "/api/infer/simple", BODY, {"NV-InferRequest": SIMPLE})
        answer = read_answer(connection)
        told.append((answer.code, answer.headers["Connection"]))
    assert told == [(200, None), (200, "close")] and connection.sock is None


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_idle_connections_are_closed(
    behind: TritonServer, start_gateway: StartGateway, protocol: str
) -> None:
    """After --keep-alive seconds without a request a connection is closed."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--keep-alive", "1")
    if protocol == "http":
        connection = HTTPConnection(gateway.http, timeout=30)
        connection.request("POST", "/api/infer/simple", BODY, {"NV-InferRequest": SIMPLE})
        assert read_answer(connection).code == 200
        assert isinstance(connection.sock, socket.socket) and connection.sock.recv(1) == b""
        return
    with Client(gateway.grpc) as client:
        states: list[Any] = []
        client.channel.subscribe(states.append)
        assert client.infer() == "SUCCESS"
        until(lambda: states[-1] is grpc.ChannelConnectivity.IDLE)
        assert client.infer() == "SUCCESS"


def test_a_dead_client_holds_no_stream(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A client that is gone without a word is noticed by --ping-interval, and its stream ends."""
    options = ("--max-streams", "1", "--ping-interval", "1", "--client-timeout", "1")
    gateway = start_gateway("--triton-grpc", behind.grpc, *options)
    with Relay(gateway.grpc) as relay, Client(relay.address) as dead, Client(gateway.grpc) as other:
        dead.stream()
        with pytest.raises(grpc.RpcError, match="1 streams are open"):
            other.stream()
        relay.flows.clear()
        until(lambda: _streams(other))


def _streams(client: Client) -> bool:
    try:
        client.stream().end()
    except grpc.RpcError:
        return False
    return True


@pytest.mark.parametrize(("allowed", "ends"), [("300", True), ("0.05", False)])
def test_pings_of_clients_are_bounded(
    behind: TritonServer, start_gateway: StartGateway, allowed: str, ends: bool
) -> None:
    """A client that pings more often than --min-ping-interval is disconnected."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--min-ping-interval", allowed)
    eager = {"keepalive_time_ms": 200, "http2.max_pings_without_data": 0}
    with Client(gateway.grpc, **eager) as client:
        stream = client.stream()
        if ends:
            with pytest.raises(grpc.RpcError, match="(?i)too many pings|too_many_pings"):
                next(stream.call)
            return
        time.sleep(1.5)
        stream.end()

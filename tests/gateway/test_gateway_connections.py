"""Limits of connections: their number, their age, calls on each, and pings."""

from __future__ import annotations

import threading
from typing import Any

import grpc

from testbed import TritonServer
from tests.gateway.bad_clients import until
from tests.gateway.gateway_process import StartGateway, code_of
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


def test_grpc_connections_have_an_age(behind: TritonServer, start_gateway: StartGateway) -> None:
    """After --max-connection-age a client makes another connection, and loses no call."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-connection-age", "0.5")
    with Relay(gateway.grpc) as relay, Client(relay.address) as client:
        stream = client.stream()
        until(lambda: client.infer() != "SUCCESS" or relay.connections >= 3)
        assert client.infer() == "SUCCESS"
        stream.end()  # which has outlived its connection's age

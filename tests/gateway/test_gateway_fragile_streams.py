"""Streams through the gateway to a Triton that ends when it does not have the model they name."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import StartGateway
from tests.gateway.grpc_requests import simple
from tritonclient_shim.core.metadata import KnownServer, ServerMetadata
from tritonclient_shim.gateway.upstream.stream import is_fragile
from tritonclient_shim.protos import grpc_service_pb2 as pb

pytest_plugins = ["tests.gateway.gateway_fixtures"]


class Told:
    """A backend that tells a server's metadata, and how often it was asked for them."""

    def __init__(self, version: str, *extensions: str) -> None:
        self._metadata = ServerMetadata("server", version, extensions)
        self._known = KnownServer()
        self.asked = 0

    def known_server(self) -> KnownServer:
        """The same object: the connection holds."""
        return self._known

    def server_metadata(self) -> ServerMetadata:
        """What was given."""
        self.asked += 1
        return self._metadata


@pytest.mark.parametrize(
    ("version", "fragile"),
    [("2.33.0", True), ("2.38.1", True), ("2.39.0", False), ("2.51.0", False), ("3.0", False)]
    + [("1.15.0", False), ("", False), ("2.x", False)],
)
def test_which_servers(version: str, fragile: bool) -> None:
    """Tritons before 2.39 are asked for each model; a connection's server is asked once."""
    server: Any = Told(version, "model_configuration")
    assert [is_fragile(server) for _ in range(2)] == [fragile] * 2
    assert server.asked == 1


def test_other_servers() -> None:
    """A server without model configurations cannot be asked for them."""
    assert not is_fragile(Told("2.33.0"))  # type: ignore[arg-type]


def test_unknown_version_on_a_stream(behind: TritonServer, start_gateway: StartGateway) -> None:
    """It is refused in its place, the stream goes on, and so does the server."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    unknown = simple(2)
    unknown.model_version = 9
    with grpc.insecure_channel(gateway.grpc) as channel:
        infer = channel.stream_stream(
            "/nvidia.inferenceserver.GRPCService/StreamInfer",
            pb.InferRequest.SerializeToString,
            pb.InferResponse.FromString,
        )
        found = list(infer(iter([simple(1), unknown, simple(3)]), timeout=60))
    assert [one.meta_data.id for one in found] == [1, 2, 3]
    assert [one.request_status.code for one in found][::2] == [1, 1]
    assert "version 9" in found[1].request_status.msg
    assert behind.running

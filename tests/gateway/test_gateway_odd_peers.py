"""The gateway between a client that sends no message of v1's and a server that is none of v2's."""

from __future__ import annotations

import time

import grpc
import pytest

from testbed import TritonServer
from tests.backends.scripted_server import ScriptedServer, http
from tests.gateway.gateway_process import Gateway, code_of
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

pytest_plugins = ["tests.gateway.gateway_fixtures"]

GARBAGE = b"\xff\xff\xff\xff"
SILENT = "whoever answers is no v2 inference server"


@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer", "Health"])
def test_bytes_that_are_no_message(gateway: Gateway, rpc: str) -> None:
    """The call ends with gRPC's own error for it, and the gateway answers the next one."""
    with grpc.insecure_channel(gateway.grpc) as channel:
        call = channel.stream_stream(f"/{v1.SERVICE}/{rpc}")
        with pytest.raises(grpc.RpcError) as caught:
            list(call(iter([GARBAGE]), timeout=30))
    error = caught.value
    assert isinstance(error, grpc.Call)
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "deserializing" in str(error.details())
    assert code_of(gateway.call("Health", pb.HealthRequest(mode="live")).request_status) == (
        "SUCCESS"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (http(200, b"<html>hello</html>"), True),
        (http(400, b'{"error": "not for you"}', "Content-Type: application/json"), False),
    ],
    ids=["foreign", "refused"],
)
def test_server_that_does_not_say_who_it_is(
    behind: TritonServer, answer: bytes, said: bool
) -> None:
    """A peer that is no v2 server is told of at the start; one that refuses to say is one."""
    with ScriptedServer(lambda request: answer) as peer:
        gateway = Gateway("--triton-grpc", behind.grpc, "--triton-http", peer.address)
        try:
            for _ in range(100):
                if peer.requests and SILENT in gateway.said():
                    break
                time.sleep(0.1 if said else 0.02)
            assert peer.requests
            assert (SILENT in gateway.said()) is said
        finally:
            assert gateway.stop() == 0

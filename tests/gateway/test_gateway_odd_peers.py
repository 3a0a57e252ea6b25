"""The gateway between a client that sends no message of v1's and a server that is none of v2's."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import SURROUNDINGS, Gateway, code_of
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

pytest_plugins = ["tests.gateway.gateway_fixtures"]

GARBAGE = b"\xff\xff\xff\xff"
#: Groups in groups, under a number that no message has.
NESTED = b"\x9b\x06" * 20_000 + b"\x9c\x06" * 20_000


@pytest.mark.parametrize("sent", [GARBAGE, NESTED], ids=["garbage", "nested"])
@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer", "Health"])
def test_bytes_that_are_no_message(gateway: Gateway, rpc: str, sent: bytes) -> None:
    """The call ends with gRPC's own error for it, and the gateway answers the next one."""
    with grpc.insecure_channel(gateway.grpc) as channel:
        call = channel.stream_stream(f"/{v1.SERVICE}/{rpc}")
        with pytest.raises(grpc.RpcError) as caught:
            list(call(iter([sent]), timeout=30))
    error = caught.value
    assert isinstance(error, grpc.Call)
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "deserializing" in str(error.details())
    assert code_of(gateway.call("Health", pb.HealthRequest(mode="live")).request_status) == (
        "SUCCESS"
    )


def test_stop_after_bytes_that_are_no_message(behind: TritonServer) -> None:
    """Streams that have ended so do not keep the gateway from stopping."""
    gateway = Gateway("--triton-grpc", behind.grpc)
    try:
        with grpc.insecure_channel(gateway.grpc) as channel:
            call = channel.stream_stream(f"/{v1.SERVICE}/StreamInfer")
            for _ in range(20):
                with pytest.raises(grpc.RpcError, match="deserializing"):
                    list(call(iter([GARBAGE]), timeout=30))
        gateway.call("Health", pb.HealthRequest(mode="live"))
        gateway.get("/api/status/simple")
    finally:
        assert gateway.stop() == 0


PLUGIN = """
def plugin(request):
    raise PermissionError("no token")

def made():
    return plugin
"""


def test_failure_of_the_gateway_itself(
    behind: TritonServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails inside, here a plugin of the settings, is an answer of v1's, and is logged."""
    (tmp_path / "failing_plugin.py").write_text(PLUGIN)
    surroundings = SURROUNDINGS["env"]
    monkeypatch.setitem(surroundings, "PYTHONPATH", f"{tmp_path}:{surroundings['PYTHONPATH']}")
    monkeypatch.setitem(surroundings, "TRITON_SHIM_PLUGIN", "failing_plugin:made")
    gateway = Gateway("--triton-grpc", behind.grpc)
    try:
        answer = gateway.get("/api/status/simple")
        assert (answer.code, code_of(answer.status)) == (400, "INTERNAL")
        assert answer.status.msg == "the gateway failed: PermissionError: no token"
        assert "a request failed inside the gateway" in gateway.said()
    finally:
        assert gateway.stop() == 0

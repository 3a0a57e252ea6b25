"""Settings that cannot be used, errors inside the gateway, and bytes that are no message."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import (
    ANY_PORT,
    Gateway,
    StartGateway,
    code_of,
    run_command,
    until,
)
from tests.gateway.grpc_requests import BODY, SIMPLE, health, simple
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos import grpc_service_pb2_grpc as v1

#: A module that has every call to Triton fail.
BROKEN = """
from tritonclient_shim.backends.grpc import backend

def call_metadata(*_):
    raise ValueError("no token today")

backend.call_metadata = call_metadata
"""
CHAIN = ("--tls-certificate", __file__, "--tls-key", __file__)
GARBAGE = b"\xff\xff\xff\xff"
#: Groups in groups, under a number that no message has.
NESTED = b"\x9b\x06" * 20_000 + b"\x9c\x06" * 20_000


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), f"root certificates {__file__!r} cannot be used"),
        (CHAIN, f"--tls-certificate {__file__} with --tls-key {__file__} cannot be used: "),
    ],
)
def test_files_that_cannot_be_used(
    surroundings: dict[str, str], options: tuple[str, ...], text: str
) -> None:
    """A gateway does not start with unusable certificates, and reports them in one line."""
    if not options:
        surroundings["TRITON_SHIM_ROOT_CERTIFICATES"] = __file__
    done = run_command("gateway", "--triton-grpc", "grpcs://127.0.0.1:9", *ANY_PORT, *options)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("tritonclient-shim gateway: cannot start: ") and text in line
    assert "Give other addresses" not in line


def test_what_fails_inside_is_internal(
    surroundings: dict[str, str],
    tmp_path: Path,
    behind: TritonServer,
    start_gateway: StartGateway,
) -> None:
    """If the code fails, calls are answered INTERNAL, streams go on, and the error is logged."""
    (tmp_path / "sitecustomize.py").write_text(BROKEN)
    surroundings["PYTHONPATH"] += f":{tmp_path}"
    gateway = start_gateway("--triton-grpc", behind.grpc)
    statuses = [
        gateway.infer("simple", SIMPLE, BODY).status,
        gateway.get("/api/status/simple").status,
        gateway.call("Infer", simple(1)).request_status,
        gateway.call("Status", pb.StatusRequest()).request_status,
        *(response.request_status for response in gateway.stream([simple(1), simple(2)])),
    ]
    assert [code_of(status) for status in statuses] == ["INTERNAL"] * 6
    messages = {status.msg for status in statuses}
    assert messages == {"the gateway failed: ValueError: no token today"}
    until(lambda: "ValueError: no token today" in gateway.log_text())
    assert "a request failed inside the gateway" in gateway.log_text()


@pytest.mark.parametrize("sent", [GARBAGE, NESTED], ids=["garbage", "nested"])
@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer", "Health"])
def test_bytes_that_are_no_message(gateway: Gateway, rpc: str, sent: bytes) -> None:
    """The call ends with gRPC's own error, and the gateway answers the next call."""
    with grpc.insecure_channel(gateway.grpc) as channel:
        call = channel.stream_stream(f"/{v1.SERVICE}/{rpc}")
        with pytest.raises(grpc.RpcError) as caught:
            list(call(iter([sent]), timeout=30))
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert "deserializing" in str(caught.value.details())
    assert code_of(gateway.call("Health", health()).request_status) == "SUCCESS"

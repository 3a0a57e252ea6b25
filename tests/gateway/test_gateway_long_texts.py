"""Names and messages of thousands of bytes: they are no failure of the connection to Triton."""

from __future__ import annotations

from tests.gateway.gateway_process import Gateway, code_of
from tests.gateway.grpc_requests import BODY, SIMPLE, simple
from tritonclient_shim.protos import grpc_service_pb2 as pb

LONG = "m" * 60_000


def test_names_that_no_model_has(gateway: Gateway) -> None:
    """A name of 60 KB gets INVALID_ARG, and the message gives the longest name."""
    load = pb.ModelControlRequest(model_name=LONG, type=pb.ModelControlRequest.LOAD)
    (streamed,) = gateway.stream([simple(1, LONG)])
    statuses = [
        gateway.infer(LONG, SIMPLE, BODY).status,
        gateway.get(f"/api/status/{LONG}").status,
        gateway.post(f"/api/modelcontrol/load/{LONG}").status,
        gateway.call("Infer", simple(1, LONG)).request_status,
        gateway.call("Status", pb.StatusRequest(model_name=LONG)).request_status,
        gateway.call("ModelControl", load).request_status,
        streamed.request_status,
    ]
    for status in statuses:
        assert code_of(status) == "INVALID_ARG"
        assert "60000 bytes: expected at most 1024" in status.msg


def test_the_longest_name(gateway: Gateway) -> None:
    """A name of 1024 bytes gets v1's error of an unknown model."""
    name = "m" * 1024
    message = f"Request for unknown model: '{name}' is not found"
    assert gateway.call("Infer", simple(1, name)).request_status.msg == message
    assert gateway.infer(name, SIMPLE, BODY).status.msg == message


def test_long_refusals(gateway: Gateway) -> None:
    """A refusal of Triton that is longer than gRPC's default for metadata reaches the client."""
    key = "/" + "k" * 60_000
    request = pb.SharedMemoryControlRequest()
    request.register.name, request.register.byte_size = "region", 64
    request.register.system_shared_memory.shared_memory_key = key
    status = gateway.call("SharedMemoryControl", request).request_status
    assert code_of(status) == "INTERNAL"
    assert key in status.msg

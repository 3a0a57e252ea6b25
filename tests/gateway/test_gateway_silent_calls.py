"""gRPC calls that send nothing, or wait for their turn, stop no others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import SilentCalls, health, until
from tests.gateway.gateway_process import Gateway, StartGateway, code_of
from tests.gateway.grpc_requests import simple, slow
from tritonclient_shim.protos import grpc_service_pb2 as pb

pytest_plugins = ["tests.gateway.gateway_fixtures"]

MANY = 40


@pytest.mark.parametrize("rpc", ["StreamInfer", "Infer", "Health"])
def test_silent_calls_stop_nothing(
    behind: TritonServer, start_gateway: StartGateway, rpc: str
) -> None:
    """Calls without a request hold no slot: inference, health and status are answered."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "4")
    with SilentCalls(gateway, rpc, MANY) as silent:
        assert code_of(gateway.call("Infer", simple()).request_status) == "SUCCESS"
        assert gateway.call("Health", health()).health
        status = gateway.call("Status", pb.StatusRequest(model_name="simple"))
        assert code_of(status.request_status) == "SUCCESS"
        assert [one.meta_data.id for one in gateway.stream([simple(1), simple(2)])] == [1, 2]
        if rpc == "StreamInfer":
            silent.requests[-1].put(simple(7))
            assert next(silent.calls[-1]).meta_data.id == 7
    assert gateway.said() == ""


def test_health_does_not_wait_for_inference(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """While all slots are taken and more requests wait for one, Health and Status answer."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "2")
    with ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(gateway.call, "Infer", slow(one, 0.5)) for one in range(12)]
        assert gateway.call("Health", health()).health
        status = gateway.call("Status", pb.StatusRequest(model_name="simple"))
        assert code_of(status.request_status) == "SUCCESS"
        assert not answers[-1].done()
        assert {code_of(one.result().request_status) for one in answers} == {"SUCCESS"}


def test_idle_streams_open_nothing_behind(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """A stream takes no thread before its first request comes, here or behind the gateway."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    assert gateway.call("Health", health()).health
    with SilentCalls(gateway, "StreamInfer", MANY):
        assert next(gateway.stream([simple(1)])).meta_data.id == 1
        assert threads(gateway) < MANY


def test_calls_are_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Beyond 16 calls for each of --max-in-flight gRPC refuses; a call that ends makes room."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "1")
    with SilentCalls(gateway, "StreamInfer", 16) as silent:
        for call, requests in zip(silent.calls, silent.requests):
            requests.put(simple(1))
            assert next(call).meta_data.id == 1
        with pytest.raises(grpc.RpcError) as caught:
            gateway.call("Health", health())
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert gateway.get("/api/health/live").code == 200
    until(lambda: is_answered(gateway))


def is_answered(gateway: Gateway) -> bool:
    """True if a stream is answered; False if there is no room for it yet."""
    try:
        return bool(next(gateway.stream([simple(1)])).meta_data.id == 1)
    except grpc.RpcError as error:
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        return False


def threads(gateway: Gateway) -> int:
    """The threads of a gateway."""
    with open(f"/proc/{gateway.process.pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Threads"))


def test_idle_streams_stop_nothing(behind: TritonServer, start_gateway: StartGateway) -> None:
    """512 streams that have been used and are idle: no thread each, and everything is answered."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    with SilentCalls(gateway, "StreamInfer", 512 // 8) as one, ExitStack() as more:
        others = [SilentCalls(gateway, "StreamInfer", 512 // 8) for _ in range(7)]
        groups = [one, *map(more.enter_context, others)]
        for group in groups:
            for number, (requests, call) in enumerate(zip(group.requests, group.calls)):
                requests.put(simple(number))
                assert next(call).meta_data.id == number
        assert code_of(gateway.call("Infer", simple()).request_status) == "SUCCESS"
        assert gateway.call("Health", health()).health
        assert gateway.get("/api/health/live").code == 200
        until(lambda: threads(gateway) < 128)
        groups[3].requests[5].put(simple(77))
        assert next(groups[3].calls[5]).meta_data.id == 77

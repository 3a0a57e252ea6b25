"""gRPC calls that send nothing, wait for a slot, or live long, stop no other calls."""

from __future__ import annotations

import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import (
    PATIENCE,
    Client,
    Gateway,
    StartGateway,
    Talk,
    code_of,
    until,
)
from tests.gateway.grpc_requests import health, serves, simple, slow
from tests.relays import Relay
from tritonclient_shim.protos import grpc_service_pb2 as pb

MANY = 40
SETTINGS, PING = b"\0\0\0\4\0\0\0\0\0", b"\0\0\x08\6\0\0\0\0\0" + bytes(8)
#: A module that has the gateway send its pings to gRPC clients more often.
FREQUENT = """
from tritonclient_shim.gateway.grpc import service

service._PING_INTERVAL = 1
"""


def silent_calls(stack: ExitStack, address: str, rpc: str, count: int) -> list[Talk]:
    """Open calls that send nothing, on a new connection."""
    client = stack.enter_context(Client(address))
    calls = [client.talk(rpc) for _ in range(count)]
    for call in calls:
        stack.callback(call.cancel)
    return calls


def answered(talk: Talk) -> bool:
    """True if a call answers a request."""
    return bool(talk.ask(simple(7))[0].meta_data.id == 7)


@pytest.mark.parametrize("rpc", ["StreamInfer", "Infer", "Health"])
def test_silent_calls_stop_nothing(
    behind: TritonServer, start_gateway: StartGateway, rpc: str
) -> None:
    """Calls without a request hold neither slots nor threads: other calls are answered."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "4")
    with ExitStack() as stack:
        silent_calls(stack, gateway.grpc, rpc, MANY)
        assert serves(gateway)
        assert [reply.meta_data.id for reply in gateway.stream([simple(1), simple(2)])] == [1, 2]
        assert gateway.figure("Threads") < MANY
    assert gateway.log_text() == ""


def test_health_does_not_wait_for_inference(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """While all slots are taken and more requests wait, Health and Status answer."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "2")
    with ThreadPoolExecutor(12) as pool:
        answers = [pool.submit(gateway.call, "Infer", slow(number, 0.5)) for number in range(12)]
        assert gateway.call("Health", health()).health
        status = gateway.call("Status", pb.StatusRequest(model_name="simple"))
        assert code_of(status.request_status) == "SUCCESS"
        assert {code_of(answer.result().request_status) for answer in answers} == {"SUCCESS"}


def test_calls_are_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """gRPC refuses more than 16 calls for each of --max-in-flight, until a call ends."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "1")
    with ExitStack() as stack:
        calls = silent_calls(stack, gateway.grpc, "StreamInfer", 16)
        assert all(map(answered, calls))
        with pytest.raises(grpc.RpcError) as caught:
            gateway.call("Health", health())
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert gateway.get("/api/health/live").code == 200
    until(lambda: has_room(gateway))


def test_a_burst_of_calls(behind: TritonServer, start_gateway: StartGateway) -> None:
    """5,000 calls at one time on one connection are all answered by the gateway."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    with Client(gateway.grpc) as client:
        send = client.method("Infer").future
        calls = [send(simple(number), timeout=120) for number in range(1, 5001)]
        codes = Counter(call.code().name for call in calls)
    assert codes == {"OK": 5000}


def test_a_burst_beyond_the_limit(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Calls of a burst beyond the limit of calls get RESOURCE_EXHAUSTED, which names a cause."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "1")
    with Client(gateway.grpc) as client:
        send = client.method("Infer").future
        calls = [send(simple(number), timeout=120) for number in range(1, 5001)]
        codes = Counter(call.code().name for call in calls)
    assert codes.keys() <= {"OK", "RESOURCE_EXHAUSTED"}


def has_room(gateway: Gateway) -> bool:
    """True if a stream is answered; False if there is no room for it yet."""
    try:
        return bool(next(gateway.stream([simple(1)])).meta_data.id == 1)
    except grpc.RpcError as error:
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        return False


def test_calls_of_dead_clients_end(
    surroundings: dict[str, str],
    tmp_path: Path,
    behind: TritonServer,
    start_gateway: StartGateway,
) -> None:
    """Streams of a client that no longer answers pings end, and there is room for other calls."""
    (tmp_path / "sitecustomize.py").write_text(FREQUENT)  # every second, instead of 300
    surroundings["PYTHONPATH"] += f":{tmp_path}"
    options = ("--max-in-flight", "1", "--client-timeout", "1")
    gateway = start_gateway("--triton-grpc", behind.grpc, *options)
    with ExitStack() as stack:
        relay = stack.enter_context(Relay(gateway.grpc))
        calls = silent_calls(stack, relay.address, "StreamInfer", 16)
        assert all(map(answered, calls)) and not has_room(gateway)
        relay.flows.clear()
        until(lambda: has_room(gateway))


def test_too_many_pings_end_a_connection(gateway: Gateway) -> None:
    """A client that sends pings all the time gets GOAWAY, and other clients are answered."""
    host, _, port = gateway.grpc.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
        client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SETTINGS + 20 * PING)
        received = b""
        while more := client.recv(4096):
            received += more
    assert b"too_many_pings" in received
    assert serves(gateway)


def test_idle_streams_stop_nothing(behind: TritonServer, start_gateway: StartGateway) -> None:
    """512 idle streams need no thread each, and other calls are answered."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    with ExitStack() as stack:
        groups = [silent_calls(stack, gateway.grpc, "StreamInfer", 64) for _ in range(8)]
        assert all(answered(talk) for group in groups for talk in group)
        assert serves(gateway)
        until(lambda: gateway.figure("Threads") < 128)
        assert answered(groups[3][5])


def test_grpc_connections_have_an_age(behind: TritonServer, start_gateway: StartGateway) -> None:
    """After --max-connection-age a client makes another connection, and loses no call."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-connection-age", "0.5")
    with Relay(gateway.grpc) as relay, Client(relay.address) as client:
        talk = client.talk()
        assert answered(talk)
        until(lambda: client.code(simple()) != "SUCCESS" or relay.connections >= 3)
        assert client.code(simple()) == "SUCCESS"
        assert talk.end() == []  # the stream has outlived its connection's age

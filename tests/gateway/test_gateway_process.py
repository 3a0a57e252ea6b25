"""Start, limits, outages and end of a gateway."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from http.client import HTTPConnection
from typing import Any

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import (
    ANY_PORT,
    COMMAND,
    SURROUNDINGS,
    Client,
    Gateway,
    StartGateway,
    ask,
    code_of,
    read_answer,
    run_command,
    until,
)
from tests.gateway.grpc_requests import BODY, SIMPLE, SLOW, health, of_floats, seconds, simple, slow
from tritonclient_shim.protos import grpc_service_pb2 as pb

LARGE = 'batch_size: 1 input { name: "INPUT0" dims: 5000 } output { name: "OUTPUT0" }'
NOWHERE = "127.0.0.1:9"


def test_ids(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The first call has request id 1 (docs/v1-behaviour.md §4.5). The server's id is Triton's."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    answers = [gateway.get("/api/health/live") for _ in range(3)]
    assert {answer.body for answer in answers} == {b""}  # v1's clients would print a body
    statuses = [answer.status for answer in answers]
    assert [status.request_id for status in statuses] == [1, 2, 3]
    assert {status.server_id for status in statuses} == {"triton"}


def test_bodies_are_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A body beyond --max-body-bytes is refused with advice, also over gRPC."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-body-bytes", "10000")
    refused = gateway.infer("identity_fp32", LARGE, bytes(20000))
    assert (refused.code, code_of(refused.status)) == (400, "INVALID_ARG")
    assert "20000 bytes exceeds the limit of this gateway, 10000 bytes" in refused.status.msg
    assert "--max-body-bytes" in refused.status.msg
    chunks = iter([bytes(8000), bytes(8000)])
    headers = {"NV-InferRequest": LARGE}
    unbounded = gateway.ask("POST", "/api/infer/identity_fp32", chunks, headers)
    assert unbounded.code == 400 and "--max-body-bytes" in unbounded.status.msg
    with pytest.raises(grpc.RpcError) as caught:
        gateway.call("Infer", of_floats("identity_fp32", 1, *[0.0] * 5000))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert gateway.get("/api/health/live").code == 200


def send_header(gateway: Gateway) -> HTTPConnection:
    """Start an inference. Return when the gateway has begun to answer it."""
    connection = HTTPConnection(gateway.http, timeout=60)
    connection.putrequest("POST", "/api/infer/slow")
    connection.putheader("NV-InferRequest", SLOW)
    connection.putheader("Content-Length", "4")
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 100 ")
    return connection


def test_stop_lets_requests_finish(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A gateway that stops is not ready, answers old and new requests, and ends with status 0."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--grace", "60")
    talk = gateway.talk()
    assert talk.ask(simple(1))[0].meta_data.id == 1
    connection = send_header(gateway)
    gateway.terminate()
    until(lambda: gateway.get("/api/health/ready").code == 400)
    assert not gateway.call("Health", health("ready")).health
    for answer in (gateway.get("/api/health/live"), gateway.infer("simple", SIMPLE, BODY)):
        assert (answer.code, answer.headers["Connection"]) == (200, "close")
    assert code_of(gateway.call("Infer", simple()).request_status) == "SUCCESS"
    assert code_of(talk.ask(simple(2))[0].request_status) == "SUCCESS"
    connection.send(seconds(0))
    assert read_answer(connection).code == 200
    assert talk.end() == []
    assert gateway.process.wait(60) == 0


def test_stop_is_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """An idle stream does not hold the gateway beyond --grace."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--grace", "0.2")
    talk = gateway.talk()
    assert talk.ask(simple(1))[0].meta_data.id == 1
    gateway.terminate()
    assert gateway.process.wait(20) == 0
    talk.cancel()


def test_stop_does_not_wait_for_a_silent_triton(start_gateway: StartGateway) -> None:
    """A gateway ends even if Triton accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        gateway = start_gateway("--triton-grpc", address, "--grace", "0.2")
        connections = [HTTPConnection(gateway.http, timeout=60), send_header(gateway)]
        connections[0].request("GET", "/api/status")
        connections[1].send(seconds(0))
        silent.accept()  # the gateway has connected
        gateway.terminate()
        assert gateway.process.wait(30) == 0
        for connection in connections:
            connection.close()


def test_no_triton(start_gateway: StartGateway) -> None:
    """Without Triton every answer is v1's UNAVAILABLE, with the address and without passwords."""
    address = f"grpc://user:secret@{NOWHERE}"
    gateway = start_gateway("--triton-grpc", address, "--server-id", "inference:0")
    statuses = [
        gateway.get("/api/status").status,
        gateway.get("/api/health/live").status,
        gateway.post("/api/modelcontrol/load/simple").status,
        gateway.get("/api/sharedmemorycontrol/status").status,
        gateway.infer("slow", SLOW, seconds(0)).status,
        gateway.call("Status", pb.StatusRequest()).request_status,
        gateway.call("Infer", simple()).request_status,
    ]
    assert [code_of(status) for status in statuses] == ["UNAVAILABLE"] * len(statuses)
    assert all(NOWHERE in status.msg and "secret" not in status.msg for status in statuses)
    assert {status.server_id for status in statuses} == {"inference:0"}
    ids = [status.request_id for status in statuses]
    assert ids == sorted(set(ids)) and ids[0] > 0


def warning_of(gateway: Gateway) -> str:
    """Wait for the warning about a missing Triton, and return its line."""
    until(lambda: bool(gateway.log_text()))
    (line,) = gateway.log_text().splitlines()
    assert "clients get UNAVAILABLE until one answers there" in line
    return line


def test_the_warning_at_the_start(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The line names Triton's address, the error, and what clients get."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        gateway = start_gateway("--triton-grpc", address)
        assert gateway.log_text() == ""  # the gateway starts without waiting for Triton
        line = warning_of(gateway)
    assert f"at {address} (gRPC): nothing came within 5 seconds" in line
    wrong = warning_of(start_gateway("--triton-grpc", behind.http))
    assert f"{behind.http} (gRPC): GRPC client failed: 2: Stream removed" in wrong


@pytest.mark.parametrize("answers", [True, False])
def test_the_line_at_the_start(behind: TritonServer, answers: bool) -> None:
    """The line names the addresses, whether Triton answers, and how to stop the gateway."""
    where = behind.grpc if answers else NOWHERE
    command = [*COMMAND, "gateway", "--triton-grpc", where, *ANY_PORT, "--drain", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **SURROUNDINGS
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 0
    assert line.startswith("Serving v1 at http 127.0.0.1:") and ", grpc 127.0.0.1:" in line
    assert (f"Triton answers at {where}" if answers else "Triton does not answer yet") in line
    assert line.endswith("Stop with Ctrl-C or SIGTERM.\n")


def test_triton_dies_and_comes_back(start_triton: Any, start_gateway: StartGateway) -> None:
    """A stream outlives the server behind it: unanswered requests fail, later ones work.

    v1's clients wait for ever for the answers of a broken stream (docs/v1-behaviour.md §5).
    """
    first = start_triton(models=["simple", "slow"])
    gateway = start_gateway("--triton-grpc", first.grpc)
    talk = gateway.talk()
    talk.send(simple(1), slow(2, 600), simple(3))
    assert code_of(next(talk.call).request_status) == "SUCCESS"
    first.kill()
    talk.send(simple(4))
    failures = [next(talk.call) for _ in range(3)]
    assert [response.meta_data.id for response in failures] == [2, 3, 4]
    assert {code_of(response.request_status) for response in failures} == {"UNAVAILABLE"}
    assert gateway.get("/api/health/live").code == 400
    start_triton(models=["simple"], extra_args=[f"--grpc-port={first.grpc.rpartition(':')[2]}"])
    deadline = time.monotonic() + 120  # gRPC takes its time to connect again
    while code_of(talk.ask(simple(5))[0].request_status) != "SUCCESS":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert gateway.infer("simple", SIMPLE, bytes(128)).code == 200
    assert talk.end() == []


def test_bad_arguments() -> None:
    """The message names what is missing; the exit status is 2."""
    done = run_command("gateway")
    assert done.returncode == 2
    assert "--triton-grpc HOST:PORT, or the variable TRITON_SHIM_GATEWAY_TRITON_GRPC" in done.stderr


@pytest.mark.parametrize("front", ["http", "grpc"])
def test_address_in_use(gateway: Gateway, front: str) -> None:
    """A second gateway on the same port reports the address, advises, and ends with status 1."""
    addresses = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", front: getattr(gateway, front)}
    options = [text for name, value in addresses.items() for text in (f"--{name}", value)]
    done = run_command("gateway", "--triton-grpc", NOWHERE, *options)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]  # gRPC has its own lines before
    assert last.startswith("tritonclient-shim gateway: cannot start: ")
    assert f"cannot listen on {addresses[front]}" in last
    assert "Give other addresses with --http, --grpc and" in last


def test_every_listener_takes_both_families(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """A gateway at ``[::]`` serves clients of IPv4 and IPv6 at all three addresses."""
    options = ("--http", "[::]:0", "--grpc", "[::]:0", "--metrics-address", "[::]:0")
    gateway = start_gateway("--triton-grpc", behind.grpc, *options)
    for host in ("127.0.0.1", "[::1]"):
        for address in (gateway.http, gateway.metrics):
            port = address.rpartition(":")[2]
            path = "/api/health/live" if address == gateway.http else "/livez"
            assert ask(f"{host}:{port}", "GET", path).code == 200
        with Client(f"{host}:{gateway.grpc.rpartition(':')[2]}") as client:
            assert client.call("Health", health()).health


def test_a_second_interrupt_is_silent(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A second Ctrl-C ends the gateway at once, and prints nothing."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--drain", "60")
    gateway.process.send_signal(signal.SIGINT)
    until(lambda: gateway.get("/api/health/ready").code == 400)
    gateway.process.send_signal(signal.SIGINT)
    assert gateway.process.wait(30) == -signal.SIGINT
    assert gateway.log_text() == ""

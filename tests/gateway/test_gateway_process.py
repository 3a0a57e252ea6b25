"""Start, limits, outages and end of a gateway."""

from __future__ import annotations

import queue
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import (
    COMMAND,
    SURROUNDINGS,
    Gateway,
    StartGateway,
    code_of,
    read_answer,
)
from tests.gateway.grpc_requests import seconds, simple, slow
from tritonclient_shim.protos import grpc_service_pb2 as pb

pytest_plugins = ["tests.gateway.gateway_fixtures"]

SIMPLE = 'batch_size: 1 input { name: "INPUT0" dims: 16 } input { name: "INPUT1" dims: 16 }'
SLOW = 'batch_size: 1 input { name: "INPUT0" dims: 1 } output { name: "OUTPUT0" }'
LARGE = 'batch_size: 1 input { name: "INPUT0" dims: 5000 } output { name: "OUTPUT0" }'


def test_ids_start_at_one(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The first call to a gateway has request id 1 (docs/v1-behaviour.md §4.5)."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    ids = [gateway.get("/api/health/live").status.request_id for _ in range(3)]
    assert ids == [1, 2, 3]


def test_nothing_is_logged_unless_asked(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The access log is off by default; with it, each request is a line on stderr."""
    quiet = start_gateway("--triton-grpc", behind.grpc)
    loud = start_gateway("--triton-grpc", behind.grpc, "--access-log")
    for gateway in (quiet, loud):
        gateway.get("/api/status/nope")
        gateway.call("Infer", simple())
    assert quiet.said() == ""
    lines = loud.said().splitlines()
    assert len(lines) == 2
    assert "http GET /api/status/nope INVALID_ARG 1 " in lines[0]
    assert "grpc Infer simple SUCCESS 2 " in lines[1]


def test_bodies_are_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A body beyond --max-body-bytes: 400 and a text that says what to do; gRPC likewise."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-body-bytes", "10000")
    refused = gateway.infer("identity_fp32", LARGE, bytes(20000))
    assert (refused.code, code_of(refused.status)) == (400, "INVALID_ARG")
    assert "20000 bytes exceeds the limit of this gateway, 10000 bytes" in refused.status.msg
    assert "--max-body-bytes" in refused.status.msg
    chunks = iter([bytes(8000), bytes(8000)])
    headers = {"NV-InferRequest": LARGE}
    unbounded = gateway.ask("POST", "/api/infer/identity_fp32", chunks, headers)
    assert unbounded.code == 400 and "--max-body-bytes" in unbounded.status.msg
    request = simple()
    request.raw_input[0] = bytes(20000)
    with pytest.raises(grpc.RpcError) as caught:
        gateway.call("Infer", request)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert gateway.get("/api/health/live").code == 200


def test_requests_run_side_by_side(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Requests to a model with four instances overlap, beyond --max-in-flight they wait."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "3")
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(gateway.infer, "slow", SLOW, seconds(0.2)) for _ in range(8)]
        assert gateway.get("/api/health/live").code == 200  # not behind the eight
        assert [answer.result().code for answer in answers] == [200] * 8


def test_stop_lets_requests_finish(behind: TritonServer, start_gateway: StartGateway) -> None:
    """SIGTERM: what is in flight is answered, on both protocols; the exit status is 0."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--grace", "30")
    asked: queue.Queue[Any] = queue.Queue()
    responses = gateway.stream(iter(asked.get, None))
    asked.put(simple(1))
    assert next(responses).meta_data.id == 1
    connection = HTTPConnection(gateway.http, timeout=60)
    send_header(connection, "slow", SLOW, 4)
    asked.put(slow(2, 1.0))
    connection.send(seconds(1.0))
    gateway.terminate()
    assert read_answer(connection).code == 200
    assert code_of(next(responses).request_status) == "SUCCESS"
    asked.put(None)
    assert gateway.process.wait(60) == 0


def send_header(connection: HTTPConnection, model: str, header: str, size: int) -> None:
    """Start an inference; the gateway has begun to answer it when this returns."""
    connection.putrequest("POST", f"/api/infer/{model}")
    connection.putheader("NV-InferRequest", header)
    connection.putheader("Content-Length", str(size))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 100 ")


def test_stop_is_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """An idle stream does not hold the gateway beyond --grace."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--grace", "0.2")
    asked: queue.Queue[Any] = queue.Queue()
    responses = gateway.stream(iter(asked.get, None))
    asked.put(simple(1))
    assert next(responses).meta_data.id == 1
    gateway.terminate()
    assert gateway.process.wait(20) == 0
    asked.put(None)


def test_stop_does_not_wait_for_a_silent_triton(start_gateway: StartGateway) -> None:
    """A Triton that takes connections and never answers cannot keep a gateway from ending."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        gateway = start_gateway("--triton-grpc", address, "--grace", "0.2")
        connections = [HTTPConnection(gateway.http, timeout=60) for _ in range(2)]
        connections[0].request("GET", "/api/status")
        send_header(connections[1], "slow", SLOW, 4)
        connections[1].send(seconds(0))
        silent.accept()  # the gateway has come to ask
        gateway.terminate()
        assert gateway.process.wait(30) == 0
        for connection in connections:
            connection.close()


def test_no_triton(start_gateway: StartGateway) -> None:
    """Without Triton every answer is v1-shaped, UNAVAILABLE, and says where none was found."""
    gateway = start_gateway("--triton-grpc", "127.0.0.1:9", "--server-id", "inference:0")
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
    assert all("127.0.0.1:9" in status.msg for status in statuses)
    assert {status.server_id for status in statuses} == {"inference:0"}
    ids = [status.request_id for status in statuses]
    assert ids == sorted(set(ids)) and ids[0] > 0


def warning_of(gateway: Gateway) -> str:
    """The line that a gateway has for a Triton that is not there, once it has come."""
    deadline = time.monotonic() + 60
    while not gateway.said():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (line,) = gateway.said().splitlines()
    assert "clients get UNAVAILABLE until one answers there" in line
    return line


def test_no_triton_is_told_at_the_start(start_gateway: StartGateway) -> None:
    """One line: where Triton was looked for, what came instead, and that the gateway goes on."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        gateway = start_gateway("--triton-grpc", address)
        assert gateway.said() == ""  # it has not waited to find out
        line = warning_of(gateway)
    assert f"at {address} (gRPC): nothing came within 5 seconds" in line


@pytest.mark.parametrize("found", [True, False])
def test_the_line_at_the_start(behind: TritonServer, found: bool) -> None:
    """People read whether Triton answers, where the gateway listens, and how to stop it."""
    where = behind.grpc if found else "127.0.0.1:9"
    listen = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--drain", "0")
    command = [*COMMAND, "gateway", "--triton-grpc", where, *listen]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **SURROUNDINGS
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        assert process.wait(30) == 0
    assert line.startswith("Serving v1 at http 127.0.0.1:") and ", grpc 127.0.0.1:" in line
    answers = f"Triton answers at {where}" if found else "Triton does not answer yet"
    assert answers in line and line.endswith("Stop with Ctrl-C or SIGTERM.\n")


def test_a_triton_that_comes_after_the_gateway(
    start_triton: Any, start_gateway: StartGateway
) -> None:
    """The warning costs nothing: the first request after Triton has started is answered."""
    port = "0"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    gateway = start_gateway("--triton-grpc", f"127.0.0.1:{port}")
    warning_of(gateway)
    start_triton(models=["simple"], extra_args=[f"--grpc-port={port}"])
    assert gateway.infer("simple", SIMPLE, bytes(128)).code == 200


def test_the_wrong_server_is_told_at_the_start(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """Triton's HTTP port given for gRPC's: the line says what came instead."""
    line = warning_of(start_gateway("--triton-grpc", behind.http))
    assert f"{behind.http} (gRPC): GRPC client failed: 2: Stream removed" in line


def test_passwords_stay_here(start_gateway: StartGateway) -> None:
    """User and password of Triton's address are not told to the clients."""
    gateway = start_gateway("--triton-grpc", "grpc://user:secret@127.0.0.1:9")
    status = gateway.get("/api/status").status
    assert "127.0.0.1:9" in status.msg and "secret" not in status.msg


def test_triton_dies_and_comes_back(start_triton: Any, start_gateway: StartGateway) -> None:
    """A stream outlives the server behind it: unanswered requests fail, later ones work.

    v1's clients wait for ever for what a broken stream owes them (docs/v1-behaviour.md §5).
    """
    first = start_triton(models=["simple", "slow"])
    gateway = start_gateway("--triton-grpc", first.grpc)
    asked: queue.Queue[Any] = queue.Queue()
    responses = gateway.stream(iter(asked.get, None))
    for request in (simple(1), slow(2, 600), simple(3)):
        asked.put(request)
    assert code_of(next(responses).request_status) == "SUCCESS"
    first.kill()
    asked.put(simple(4))
    failures = [next(responses) for _ in range(3)]
    assert [one.meta_data.id for one in failures] == [2, 3, 4]
    assert {code_of(one.request_status) for one in failures} == {"UNAVAILABLE"}
    assert gateway.get("/api/health/live").code == 400
    start_triton(models=["simple"], extra_args=[f"--grpc-port={first.grpc.rpartition(':')[2]}"])
    assert works_again(asked, responses)
    assert gateway.infer("simple", SIMPLE, bytes(128)).code == 200
    asked.put(None)
    assert list(responses) == []


def works_again(asked: Any, responses: Any) -> bool:
    """Ask until there is an answer; gRPC takes its time to connect again."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        asked.put(simple(5))
        if code_of(next(responses).request_status) == "SUCCESS":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "--triton-grpc"),
        (("--triton-grpc", "x:1", "--http", "8000"), "expected HOST:PORT, got '8000'"),
        (("--triton-grpc", "x:1", "--max-body-bytes", "0"), "expected a positive number, got '0'"),
        (("--triton-grpc", "x:1", "--client-timeout", "0"), "number of seconds, got '0'"),
        (("--triton-grpc", "x:1", "--client-timeout", "5s"), "number of seconds, got '5s'"),
    ],
)
def test_bad_arguments(arguments: tuple[str, ...], text: str) -> None:
    """What is wrong on the command line is named, with exit status 2."""
    done = run_command("gateway", *arguments)
    assert done.returncode == 2 and text in done.stderr


def test_advice_about_addresses_only_where_it_helps(tmp_path: Path) -> None:
    """What else prevents a start is not mistaken for an address in use, whatever it is called."""
    file = tmp_path / "cannot listen on.pem"
    file.write_text("no certificate")
    listen = ("--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
    options = ("--tls-certificate", str(file), "--tls-key", str(file))
    done = run_command("gateway", "--triton-grpc", "127.0.0.1:9", *listen, *options)
    assert done.returncode == 1 and "cannot be used" in done.stderr
    assert "Give other addresses" not in done.stderr


@pytest.mark.parametrize("front", ["http", "grpc"])
def test_address_in_use(gateway: Gateway, front: str) -> None:
    """A second gateway on the same port says so and what to do, and ends with status 1."""
    addresses = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", front: getattr(gateway, front)}
    options = [text for name, value in addresses.items() for text in (f"--{name}", value)]
    done = run_command("gateway", "--triton-grpc", "127.0.0.1:9", *options)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]  # gRPC has its own lines before
    assert last.startswith("tritonclient-shim gateway: cannot start: ")
    assert f"cannot listen on {addresses[front]}" in last
    assert "Give other addresses with --http, --grpc and" in last


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m tritonclient_shim`` to its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **SURROUNDINGS,
    )

"""A gateway of several worker processes: shared addresses, deaths, stops."""

from __future__ import annotations

import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, until
from tests.gateway.gateway_process import Gateway, StartGateway, code_of, read_answer
from tests.gateway.grpc_requests import seconds, simple
from tests.gateway.test_gateway_process import run_command

pytest_plugins = ["tests.gateway.gateway_fixtures"]

SLOW = 'batch_size: 1 input { name: "INPUT0" dims: 1 } output { name: "OUTPUT0" }'


def workers_of(gateway: Gateway) -> set[int]:
    """The numbers of its worker processes."""
    path = f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children"
    with open(path) as children:
        return {int(word) for word in children.read().split()}


def is_running(process: int) -> bool:
    """Does the process run? One that has ended and waits for its parent does not."""
    with suppress(OSError), open(f"/proc/{process}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.fixture
def two(behind: TritonServer, start_gateway: StartGateway) -> Gateway:
    """A gateway of two workers."""
    return start_gateway("--triton-grpc", behind.grpc, "--workers", "2", "--grace", "30")


def test_both_workers_answer(two: Gateway) -> None:
    """Connections are spread over both processes, over HTTP and gRPC, on the announced ports."""
    assert len(workers_of(two)) == 2
    ids = [two.get("/api/health/live").status.request_id for _ in range(40)]
    assert ids.count(1) == 2  # each worker counts for itself
    assert code_of(two.call("Infer", simple()).request_status) == "SUCCESS"


def test_state_is_tritons(two: Gateway) -> None:
    """A sequence over HTTP may go through both workers; a region is known in both."""
    header = (
        'id: 1 batch_size: 1 flags: {} correlation_id: 77 input {{ name: "INPUT" dims: 1 }} '
        'output {{ name: "OUTPUT" }}'
    )
    total = 0
    for value in range(1, 21):  # twenty connections
        flags = {1: 1, 20: 2}.get(value, 0)
        data = np.array([value], np.int32).tobytes()
        answer = two.infer("sequence_sum", header.format(flags), data)
        total += value
        assert answer.code == 200, answer.status
        assert np.frombuffer(answer.body[:4], np.int32).tolist() == [total]
    place = Path("/dev/shm") / f"gateway-workers-{os.getpid()}"
    place.write_bytes(bytes(64))
    try:
        path = f"/api/sharedmemorycontrol/register/ours//{place.name}/0/64"
        assert two.post(path).code == 200
        found = [two.get("/api/sharedmemorycontrol/status").body for _ in range(20)]
        assert all(b'name: "ours"' in one for one in found)
        codes = [two.post(path).code for _ in range(10)]
        assert codes == [400] * 10  # it is registered
    finally:
        two.post("/api/sharedmemorycontrol/unregisterall")
        place.unlink()


@pytest.mark.parametrize("killed", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_that_ends_is_replaced(two: Gateway, killed: int) -> None:
    """The log tells it, the other worker goes on meanwhile, and pauses grow with each end."""
    told = []
    how = "by signal SIGKILL" if killed == signal.SIGKILL else "with status 0"
    known: set[int] = set()
    for number in range(3):
        victim = (set(workers_of(two)) - known).pop()  # from the second time on, the newest
        known.update(workers_of(two))
        os.kill(victim, killed)
        until(lambda: f"(process {victim}) has ended {how}; " in two.said())  # noqa: B023
        assert two.infer("simple", SIMPLE, BODY).code == 200
        until(lambda: two.said().count("serves again") > number)  # noqa: B023
        told.append(two.said().splitlines()[-2].rpartition("another one is started ")[2])
        assert len(workers_of(two)) == 2 and victim not in workers_of(two)
    assert told == ["now", "in 0.5 seconds", "in 1 seconds"]


def test_workers_end_with_their_supervisor(two: Gateway) -> None:
    """A supervisor that is killed leaves no worker behind, and requests in progress end first."""
    found = workers_of(two)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(two.infer, "slow", SLOW, seconds(1.0))
        time.sleep(0.3)
        two.process.kill()
        assert asked.result().code == 200
    until(lambda: not any(map(is_running, found)))


@pytest.mark.parametrize("everybody", [False, True])
def test_a_stop_lets_requests_finish(two: Gateway, everybody: bool) -> None:
    """SIGTERM to the supervisor, or to all processes as systemd sends it: all is answered."""
    found = workers_of(two)
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(two.infer, "slow", SLOW, seconds(0.4)) for _ in range(8)]
        time.sleep(0.3)
        two.terminate()
        for process in found if everybody else ():
            os.kill(process, signal.SIGTERM)
        assert [one.result().code for one in asked] == [200] * 8
    assert two.process.wait(30) == 0
    assert not any(map(is_running, found))
    assert two.said() == ""


def test_a_second_signal_ends_everything(behind: TritonServer, start_gateway: StartGateway) -> None:
    """As with one process, a second signal does not wait; no worker stays."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--workers", "2", "--drain", "60")
    found = workers_of(gateway)
    gateway.terminate()
    until(lambda: gateway.get("/api/health/ready").code == 400)
    gateway.terminate()
    assert gateway.process.wait(10) == -signal.SIGTERM
    until(lambda: not any(map(is_running, found)))


def test_a_hanging_worker_does_not_hold_a_stop(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """A worker that does nothing is killed when the time of grace has long passed."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--workers", "2", "--grace", "0.2")
    hanging = min(workers_of(gateway))
    os.kill(hanging, signal.SIGSTOP)
    gateway.terminate()
    assert gateway.process.wait(30) == 0
    assert not is_running(hanging)
    assert f"(process {hanging}) does not stop and is killed" in gateway.said()


@pytest.mark.parametrize("front", ["http", "grpc"])
@pytest.mark.parametrize("count", ["1", "2"])
def test_the_addresses_are_its_own(two: Gateway, front: str, count: str) -> None:
    """Another gateway on the same port, with workers or without, is refused."""
    addresses = {"http": "127.0.0.1:0", "grpc": "127.0.0.1:0", front: getattr(two, front)}
    options = [text for name, value in addresses.items() for text in (f"--{name}", value)]
    done = run_command("gateway", "--triton-grpc", "127.0.0.1:9", "--workers", count, *options)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tritonclient-shim gateway: cannot start: ")
    assert addresses[front].rpartition(":")[2] in last


def test_no_triton_is_told_once(start_gateway: StartGateway) -> None:
    """The line that says that Triton was not found comes from one worker only."""
    gateway = start_gateway("--triton-grpc", "127.0.0.1:9", "--workers", "3")
    until(lambda: bool(gateway.said()))
    time.sleep(1)
    (line,) = gateway.said().splitlines()
    assert "asked for Triton" in line


def resolves(name: str) -> bool:
    """Whether this machine knows the addresses of a name."""
    try:
        return bool(socket.getaddrinfo(name, 0))
    except OSError:
        return False


@pytest.mark.skipif(not resolves("localhost"), reason="localhost has no address on this machine")
def test_host_names_have_one_port(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A name of several addresses and port 0: one port, on which all of them answer."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--workers", "2", "--http", "localhost:0")
    host, _, port = gateway.http.rpartition(":")
    assert host == "localhost"
    for family, _, _, _, place in socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM):
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.connect(place)
            connection: Any = HTTPConnection("localhost")
            connection.sock = one
            connection.request("GET", "/api/health/live")
            assert read_answer(connection).code == 200

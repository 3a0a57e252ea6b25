"""A Triton that hangs: stopped by SIGSTOP, it takes connections and answers nothing."""

from __future__ import annotations

import os
import queue
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, health, until
from tests.gateway.gateway_process import Gateway, StartGateway, code_of
from tests.gateway.grpc_requests import simple, slow
from tritonclient_shim.protos import grpc_service_pb2 as pb

pytest_plugins = ["tests.gateway.gateway_fixtures"]

LIMITS = ("--upstream-timeout", "1", "--health-timeout", "0.5")


@pytest.fixture(scope="module")
def own() -> Iterator[TritonServer]:
    """A server that tests may stop for a while."""
    with TritonServer.start(models=["simple"]) as server:
        yield server


@contextmanager
def hanging(server: TritonServer) -> Iterator[None]:
    """The server does nothing inside the ``with`` block."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        until(lambda: all(map(_stopped, Path(f"/proc/{server.pid}/task").iterdir())))
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def works(gateway: Gateway) -> bool:
    """Does Triton answer over both protocols? After a stop it has much to do."""
    over_grpc = code_of(gateway.call("Infer", simple()).request_status)
    return gateway.infer("simple", SIMPLE, BODY).code == 200 and over_grpc == "SUCCESS"


def _stopped(task: Path) -> bool:
    """Has a thread come to its stop?"""
    return (task / "stat").read_text().rpartition(") ")[2].startswith("T")


def test_every_answer_comes_in_time(own: TritonServer, start_gateway: StartGateway) -> None:
    """Each call is told UNAVAILABLE with the option that sets its limit; all work afterwards."""
    gateway = start_gateway("--triton-grpc", own.grpc, *LIMITS)
    until(lambda: works(gateway))
    with hanging(own):
        statuses = [
            gateway.infer("simple", SIMPLE, BODY).status,
            gateway.infer("never_seen", SIMPLE, BODY).status,
            gateway.call("Infer", simple()).request_status,
            gateway.get("/api/status").status,
            gateway.get("/api/sharedmemorycontrol/status").status,
            gateway.call("Status", pb.StatusRequest()).request_status,
        ]
        loads = [
            gateway.post("/api/modelcontrol/load/simple").status,
            gateway.get("/api/health/live").status,
            gateway.call("Health", health()).request_status,
        ]
    assert {code_of(one) for one in statuses + loads} == {"UNAVAILABLE"}
    assert all("--upstream-timeout" in one.msg for one in statuses), statuses
    assert "within 10 seconds" in loads[0].msg and "--upstream-timeout" in loads[0].msg
    assert all("--health-timeout" in one.msg for one in loads[1:])
    until(lambda: gateway.get("/api/health/live").code == 200)
    until(lambda: works(gateway))


def test_a_stream_has_the_limit_too(own: TritonServer, start_gateway: StartGateway) -> None:
    """Requests on a stream are told UNAVAILABLE; the stream goes on when Triton does."""
    gateway = start_gateway("--triton-grpc", own.grpc, *LIMITS)
    until(lambda: works(gateway))
    asked: queue.Queue[Any] = queue.Queue()
    responses = gateway.stream(iter(asked.get, None))
    asked.put(simple(1))
    assert code_of(next(responses).request_status) == "SUCCESS"
    with hanging(own):
        asked.put(simple(2))
        asked.put(simple(3))
        failed = [next(responses) for _ in range(2)]
    assert [(one.meta_data.id, code_of(one.request_status)) for one in failed] == [
        (2, "UNAVAILABLE"),
        (3, "UNAVAILABLE"),
    ]
    assert "--upstream-timeout" in failed[0].request_status.msg
    until(lambda: works(gateway))
    asked.put(simple(4))
    assert code_of(next(responses).request_status) == "SUCCESS"
    asked.put(None)
    assert list(responses) == []


def test_a_hang_is_told_before_the_time_limit(
    own: TritonServer, start_gateway: StartGateway
) -> None:
    """With the default time limits, no request waits 60 seconds for a Triton that hangs."""
    gateway = start_gateway("--triton-grpc", own.grpc)
    until(lambda: works(gateway))
    asked: queue.Queue[Any] = queue.Queue()
    responses = gateway.stream(iter(asked.get, None))
    with ThreadPoolExecutor(6) as pool, hanging(own):
        start = time.monotonic()
        asked.put(simple(1))
        infers = [pool.submit(gateway.infer, "simple", SIMPLE, BODY) for _ in range(2)]
        over_grpc = [pool.submit(gateway.call, "Infer", simple()) for _ in range(2)]
        health = pool.submit(gateway.get, "/api/health/live")
        statuses = [one.result().status for one in [*infers, health]]
        statuses += [one.result().request_status for one in over_grpc]
        statuses.append(next(responses).request_status)
        assert time.monotonic() - start < 20
    assert {code_of(one) for one in statuses} == {"UNAVAILABLE"}
    assert all("--health-timeout" in one.msg for one in statuses), statuses
    asked.put(None)


def test_a_slow_model_does_not_hang(behind: TritonServer, start_gateway: StartGateway) -> None:
    """An inference may take longer than a hang, as long as Triton answers for its health."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--health-timeout", "0.5")
    assert code_of(gateway.call("Infer", slow(1, 4.0)).request_status) == "SUCCESS"


def test_health_is_told_at_once(own: TritonServer, start_gateway: StartGateway) -> None:
    """Only the first question after Triton has stopped waits for the time limit of health."""
    gateway = start_gateway("--triton-grpc", own.grpc, "--health-timeout", "3")
    until(lambda: works(gateway))
    with hanging(own):
        assert gateway.get("/api/health/live").code == 400
        start = time.monotonic()
        for path in ["/api/health/live", "/api/health/ready"] * 10:
            assert code_of(gateway.get(path).status) == "UNAVAILABLE"
        assert time.monotonic() - start < 3
    until(lambda: gateway.get("/api/health/ready").code == 200)


def test_health_does_not_wait_behind_requests_that_hang(
    own: TritonServer, start_gateway: StartGateway
) -> None:
    """While all slots hang and more requests wait for one, health is told; no request is lost."""
    limits = ("--upstream-timeout", "2", "--health-timeout", "0.5", "--max-in-flight", "2")
    gateway = start_gateway("--triton-grpc", own.grpc, *limits)
    until(lambda: works(gateway))
    with ThreadPoolExecutor(16) as pool, hanging(own):
        asked = [pool.submit(gateway.infer, "simple", SIMPLE, BODY) for _ in range(8)]
        asked_grpc = [pool.submit(gateway.call, "Infer", simple()) for _ in range(8)]
        assert code_of(gateway.get("/api/health/live").status) == "UNAVAILABLE"
        assert code_of(gateway.call("Health", health()).request_status) == "UNAVAILABLE"
        assert not any(one.done() for one in asked + asked_grpc)
        statuses = [one.result().status for one in asked]
        statuses += [one.result().request_status for one in asked_grpc]
    assert {code_of(one) for one in statuses} == {"UNAVAILABLE"}
    assert any("--max-in-flight" in one.msg for one in statuses)
    until(lambda: gateway.infer("simple", SIMPLE, BODY).code == 200)

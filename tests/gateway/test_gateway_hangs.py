"""A Triton that hangs: stopped by SIGSTOP, it accepts connections and answers nothing."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterable, Iterator

import pytest

from testbed import TritonServer
from tests.gateway.gateway_process import StartGateway, code_of, until
from tests.gateway.grpc_requests import BODY, SIMPLE, health, serves, simple, slow, statuses_of
from tritonclient_shim.protos import grpc_service_pb2 as pb

LIMITS = ("--upstream-timeout", "1", "--health-timeout", "1")


@pytest.fixture(scope="module")
def own() -> Iterator[TritonServer]:
    """Start a server that tests may stop for a while."""
    with TritonServer.start(models=["simple"]) as server:
        yield server


@contextmanager
def hanging(server: TritonServer) -> Iterator[None]:
    """Stop the server inside the ``with`` block."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        until(lambda: all(map(_stopped, Path(f"/proc/{server.pid}/task").iterdir())))
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def _stopped(task: Path) -> bool:
    """True if a thread has stopped."""
    return (task / "stat").read_text().rpartition(") ")[2].startswith("T")


def codes(statuses: Iterable[Any]) -> set[str]:
    """Return the names of v1's codes."""
    return {code_of(status) for status in statuses}


def test_every_answer_comes_in_time(own: TritonServer, start_gateway: StartGateway) -> None:
    """Each call is answered UNAVAILABLE with the option of its limit; later all calls succeed.

    So are requests on a stream, which works when Triton works again.
    """
    gateway = start_gateway("--triton-grpc", own.grpc, *LIMITS)
    until(lambda: serves(gateway))
    talk = gateway.talk()
    assert code_of(talk.ask(simple(1))[0].request_status) == "SUCCESS"
    with hanging(own):
        failed = talk.ask(simple(2), simple(3))
        assert [response.meta_data.id for response in failed] == [2, 3]
        statuses = [
            failed[0].request_status,
            *statuses_of(gateway),
            gateway.infer("never_seen", SIMPLE, BODY).status,
            gateway.get("/api/status").status,
            gateway.get("/api/sharedmemorycontrol/status").status,
            gateway.call("Status", pb.StatusRequest()).request_status,
        ]
        load = gateway.post("/api/modelcontrol/load/simple").status
        healths = [
            gateway.get("/api/health/live").status,
            gateway.call("Health", health()).request_status,
        ]
    assert codes([*statuses, failed[1].request_status, load, *healths]) == {"UNAVAILABLE"}
    assert all("--upstream-timeout" in status.msg for status in statuses), statuses
    assert "within 10 seconds" in load.msg and "--upstream-timeout" in load.msg
    assert all("--health-timeout" in status.msg for status in healths)
    until(lambda: gateway.get("/api/health/live").code == 200)
    until(lambda: serves(gateway))
    assert code_of(talk.ask(simple(4))[0].request_status) == "SUCCESS"
    assert talk.end() == []


def test_a_hang_is_noticed_before_the_time_limit(
    own: TritonServer, start_gateway: StartGateway
) -> None:
    """With the default time limits, no request waits 60 seconds for a Triton that hangs."""
    gateway = start_gateway("--triton-grpc", own.grpc)
    until(lambda: serves(gateway))
    talk = gateway.talk()
    with ThreadPoolExecutor(6) as pool, hanging(own):
        talk.send(simple(1))
        waiting = [pool.submit(statuses_of, gateway) for _ in range(2)]
        live = pool.submit(gateway.get, "/api/health/live")
        statuses = [next(talk.call).request_status, live.result().status]
        for answer in waiting:
            statuses += answer.result()
    assert codes(statuses) == {"UNAVAILABLE"}
    assert all("--health-timeout" in status.msg for status in statuses), statuses
    talk.end()


def test_a_slow_model_does_not_hang(behind: TritonServer, start_gateway: StartGateway) -> None:
    """An inference may take longer than --health-timeout while Triton answers for its health."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--health-timeout", "0.5")
    assert code_of(gateway.call("Infer", slow(1, 4.0)).request_status) == "SUCCESS"


def test_health_does_not_wait_behind_requests_that_hang(
    own: TritonServer, start_gateway: StartGateway
) -> None:
    """While all slots hang and more requests wait, health and each request are answered."""
    limits = ("--upstream-timeout", "2", "--health-timeout", "1", "--max-in-flight", "2")
    gateway = start_gateway("--triton-grpc", own.grpc, *limits)
    until(lambda: serves(gateway))
    with ThreadPoolExecutor(16) as pool, hanging(own):
        waiting = [pool.submit(gateway.infer, "simple", SIMPLE, BODY) for _ in range(8)]
        over_grpc = [pool.submit(gateway.call, "Infer", simple()) for _ in range(8)]
        assert code_of(gateway.get("/api/health/live").status) == "UNAVAILABLE"
        assert code_of(gateway.call("Health", health()).request_status) == "UNAVAILABLE"
        statuses = [future.result().status for future in waiting]
        statuses += [future.result().request_status for future in over_grpc]
    assert codes(statuses) == {"UNAVAILABLE"}
    assert any("--max-in-flight" in status.msg for status in statuses)
    until(lambda: gateway.infer("simple", SIMPLE, BODY).code == 200)

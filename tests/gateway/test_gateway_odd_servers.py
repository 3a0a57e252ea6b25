"""Tritons that answer in part, or not as they should: every client gets v1's answer, or waits
alone.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Iterator

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, until
from tests.gateway.gateway_process import Gateway, StartGateway, code_of
from tests.relays import Relay

pytest_plugins = ["tests.gateway.gateway_fixtures"]


class NamelessServer(Relay):
    """The server behind it does not say who it is while ``flows`` is cleared; all else works."""

    asked_for_its_name = False

    def passed(self, data: bytes) -> bytes:
        if data.startswith(b"GET /v2 "):
            self.asked_for_its_name = True
            self.flows.wait()
        return data


class GarblingProxy(Relay):
    """Changes the model's name in answers to a half of a character, which no message can hold."""

    def passed(self, data: bytes) -> bytes:
        return data.replace(b'"model_name":"simple"', rb'"model_name":"\ud800"')


@pytest.fixture
def nameless(behind: TritonServer) -> Iterator[NamelessServer]:
    """A server that does not tell its id yet."""
    relay = NamelessServer(behind.http)
    with relay:
        relay.flows.clear()
        yield relay


def test_asking_for_the_id_keeps_no_one_else_waiting(
    behind: TritonServer, nameless: NamelessServer, start_gateway: StartGateway
) -> None:
    """An inference waits for the server's id; who needs none is answered meanwhile."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--triton-http", nameless.address)
    until(lambda: nameless.asked_for_its_name)  # by the gateway, when it started
    nameless.asked_for_its_name = False
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gateway.infer, "simple", SIMPLE, BODY)
        until(lambda: nameless.asked_for_its_name)
        assert refused_at_once(gateway) == [400, 405]
        assert not waiting.done()
        nameless.flows.set()
        answer = waiting.result()
    assert (answer.code, answer.status.server_id) == (200, "triton")


@pytest.mark.parametrize("over", ["--triton-http", "--triton-grpc"])
def test_a_silent_server_keeps_only_its_own_clients_waiting(
    behind: TritonServer, start_gateway: StartGateway, over: str
) -> None:
    """While no call of any kind gets an answer, clients that need none are answered."""
    with Relay(behind.http if over == "--triton-http" else behind.grpc) as relay:
        relay.flows.clear()
        gateway = start_gateway("--triton-grpc", behind.grpc, over, relay.address)
        paths = ("status", "health/live", "repository/index", "sharedmemorycontrol/status")
        with ThreadPoolExecutor(5) as pool:
            waiting = [pool.submit(gateway.get, f"/api/{path}") for path in paths]
            waiting.append(pool.submit(gateway.infer, "simple", SIMPLE, BODY))
            time.sleep(0.5)
            assert refused_at_once(gateway) == [400, 405]
            assert not any(one.done() for one in waiting)
            relay.flows.set()
            assert [one.result().code for one in waiting] == [200] * 5


def refused_at_once(gateway: Gateway) -> list[int]:
    """The answers to a path and a method that v1 did not have, each within ten seconds."""
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(gateway.get, path) for path in ("/api/nope", "/api/infer/simple")]
        return [one.result(10).code for one in asked]


def test_an_answer_that_no_header_can_tell(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """An answer that cannot be put in v1's words is told as unreadable, and nothing is logged."""
    with GarblingProxy(behind.http) as proxy:
        gateway = start_gateway("--triton-grpc", behind.grpc, "--triton-http", proxy.address)
        answer = gateway.infer("simple", SIMPLE, BODY)
        assert gateway.said() == ""
    assert (answer.code, answer.body, code_of(answer.status)) == (400, b"", "UNAVAILABLE")
    assert "the server's answer could not be read: " in answer.status.msg
    assert answer.headers["NV-InferResponse"] == ""

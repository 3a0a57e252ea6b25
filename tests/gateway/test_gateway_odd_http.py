"""Requests that are correct HTTP, and that few clients send (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import socket
import time

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, Raw, head
from tests.gateway.gateway_process import Gateway, StartGateway, code_of
from tests.gateway.grpc_requests import seconds

pytest_plugins = ["tests.gateway.gateway_fixtures"]

CONTROL = "/api/sharedmemorycontrol"
HUGE = "9" * 25
LIVE = "GET {0}/api/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
WHOLE = head(f"Content-Length: {len(BODY)}") + BODY
SLOW = 'batch_size: 1 input { name: "INPUT0" dims: 1 } output { name: "OUTPUT0" }'


@pytest.mark.parametrize(
    "path",
    [
        f"{CONTROL}/register/r//k/{HUGE}/64",
        f"{CONTROL}/register/r//k/0/{HUGE}",
        f"{CONTROL}/cudaregister/r/{HUGE}/0",
        f"{CONTROL}/cudaregister/r/64/{HUGE}",
        f"/api/infer/simple/{HUGE}",
        f"/api/infer/simple/{'9' * 5000}",
    ],
    ids=["offset", "size", "cuda size", "device", "version", "long version"],
)
def test_numbers_out_of_range(gateway: Gateway, path: str) -> None:
    """A number that no field of v1's can hold is the client's error, and not logged."""
    said = gateway.said()
    answer = gateway.ask("POST", path, BODY[:64], {"NV-InferRequest": SLOW})
    assert (answer.code, code_of(answer.status)) == (400, "INVALID_ARG")
    assert "is too large: expected a number of at most " in answer.status.msg
    assert len(answer.status.msg) < 200
    assert gateway.said() == said


@pytest.mark.parametrize("target", ["http://triton.example", "HTTP://x:8000", "https://x"])
def test_absolute_targets(gateway: Gateway, target: str) -> None:
    """A target with scheme and host, which clients send that take the gateway for a proxy."""
    assert Raw(gateway, LIVE.format(target).encode()).answer().code == 200
    whole = WHOLE.replace(b"POST /", f"POST {target}/".encode(), 1)
    assert code_of(Raw(gateway, whole).answer().status) == "SUCCESS"


def test_no_answer_names_its_programs(gateway: Gateway) -> None:
    """Like v1's, no answer has the header Server: successes, refusals, bytes that are no HTTP."""
    unknown = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
    sent = (LIVE.format("").encode(), unknown, WHOLE, b"x\r\n\r\n")
    answers = [Raw(gateway, one).answer() for one in sent]
    assert [one.code for one in answers] == [200, 400, 200, 400]
    assert [one.headers["Server"] for one in answers] == [None] * 4


def test_an_upgrade_is_not_taken(gateway: Gateway) -> None:
    """Who offers HTTP/2 by Upgrade is answered in HTTP/1.1, and may go on in that."""
    offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    client = Raw(gateway, LIVE.format("").replace("Host:", f"{offer}Host:").encode())
    assert client.answer().code == 200
    client.send(WHOLE)
    assert code_of(client.answer().status) == "SUCCESS"


def test_a_client_that_sends_no_more(gateway: Gateway) -> None:
    """Who closes their side of the connection behind a request gets its answer, then the end."""
    client = Raw(gateway, WHOLE)
    client.socket.shutdown(socket.SHUT_WR)
    assert code_of(client.answer().status) == "SUCCESS"
    assert client.rest() == b""


def test_answers_that_take_time(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The same while the server computes, and with two requests that came together."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    request = head("Content-Length: 4", path="/api/infer/slow", header=SLOW) + seconds(0.5)
    client = Raw(gateway, request + LIVE.format("").encode())
    time.sleep(0.2)
    client.socket.shutdown(socket.SHUT_WR)
    assert client.rest().count(b"HTTP/1.1 200 OK") == 2
    assert gateway.said() == ""


@pytest.mark.parametrize("sent", [b"", WHOLE[:-1], head("Content-Length: 128")[:-30]])
def test_half_requests_of_a_closed_side(gateway: Gateway, sent: bytes) -> None:
    """A request that cannot become complete any more ends the connection at once."""
    client = Raw(gateway, sent)
    start = time.monotonic()
    client.socket.shutdown(socket.SHUT_WR)
    client.rest()
    assert time.monotonic() - start < 10

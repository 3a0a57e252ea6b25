"""Requests that are correct HTTP, and that few clients send (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import pytest

from tests.gateway.bad_clients import BODY, Raw, head
from tests.gateway.gateway_process import Gateway, code_of

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
    """Like v1's, no answer has the header Server: successes and refusals."""
    unknown = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
    sent = (LIVE.format("").encode(), unknown, WHOLE)
    answers = [Raw(gateway, one).answer() for one in sent]
    assert [one.code for one in answers] == [200, 400, 200]
    assert [one.headers["Server"] for one in answers] == [None] * 3


def test_an_upgrade_is_not_taken(gateway: Gateway) -> None:
    """Who offers HTTP/2 by Upgrade is answered in HTTP/1.1, and may go on in that."""
    offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    client = Raw(gateway, LIVE.format("").replace("Host:", f"{offer}Host:").encode())
    assert client.answer().code == 200
    client.send(WHOLE)
    assert code_of(client.answer().status) == "SUCCESS"

"""v1's HTTP endpoints, methods and statuses through the gateway (docs/v1-behaviour.md §9.1)."""

from __future__ import annotations

import pytest

from tests.gateway.bad_clients import Raw, head
from tests.gateway.gateway_process import Gateway, code_of
from tests.gateway.grpc_requests import BODY, SLOW

CONTROL = "/api/sharedmemorycontrol"

#: Requests that are no endpoint, by status: 400 for a path, 405 for a method.
REFUSED = {
    400: """
        GET /
        GET /v2/health/live
        GET /api/health
        GET /api/health/alive
        GET /api/repository
        POST /api/infer/simple/latest
        POST /api/infer/simple/1/extra
        POST /api/infer/sim%0Aple/latest
        POST /api/modelcontrol/reload/simple
        POST /api/sharedmemorycontrol/register/r/key/0/64
        POST /api/sharedmemorycontrol/register/r//a/b/0/64
        OPTIONS *
    """,
    405: """
        POST /api/status
        HEAD /api/health/live
        OPTIONS /api/infer/simple
        GET /api/infer/simple
        PUT /api/infer/simple
        GET /api/modelcontrol/load/simple
        POST /api/sharedmemorycontrol/status
        GET /api/sharedmemorycontrol/register/r//k/0/64
    """,
}
ROWS = [(code, line.strip()) for code, text in REFUSED.items() for line in text.strip().split("\n")]


@pytest.mark.parametrize(("code", "line"), ROWS)
def test_what_is_no_endpoint(gateway: Gateway, code: int, line: str) -> None:
    """A wrong path is 400, a wrong method 405, without NV-Status (docs/v1-behaviour.md §9.1)."""
    method, path = line.split(" ")
    answer = gateway.ask(method, path)
    assert (answer.code, answer.status, answer.body) == (code, None, b"")


@pytest.mark.parametrize(
    ("query", "accept", "is_json"),
    [
        ("?format=json", "", True),
        ("", "application/json", True),
        ("", "application/json, */*", False),
        ("?format=text", "application/json", False),
    ],
)
def test_status_as_json(gateway: Gateway, query: str, accept: str, is_json: bool) -> None:
    """JSON has the .proto's field names; of Accept, only ``application/json`` alone selects it."""
    # docs/v1-behaviour.md §9.1
    answer = gateway.get(f"/api/status/simple{query}", Accept=accept)
    kind = "application/json" if is_json else "text/plain"
    assert answer.headers["Content-Type"].startswith(kind)
    assert (b'"ready_state": "SERVER_READY"' in answer.body) is is_json
    assert answer.body.startswith(b"id:") is not is_json


def test_names_are_not_decoded(gateway: Gateway) -> None:
    """A refusal has v1's text, and no body (docs/v1-behaviour.md §9.1, §D)."""
    answer = gateway.get("/api/status/sim%70le?format=binary")
    assert (answer.code, answer.body) == (400, b"")
    assert answer.status.msg == "no status available for unknown model 'sim%70le'"


def test_repository_index_as_text(gateway: Gateway) -> None:
    """GET /api/repository/index without a format is text (docs/v1-behaviour.md §6.3)."""
    assert b'models {\n  name: "simple"\n}\n' in gateway.get("/api/repository/index").body


# ------------------------------ correct HTTP that few clients send

HUGE = "9" * 25
LIVE = "GET {0}/api/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
WHOLE = head(f"Content-Length: {len(BODY)}") + BODY


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
    """A number that is too large for v1's field is refused, and not logged."""
    log = gateway.log_text()
    answer = gateway.ask("POST", path, BODY[:64], {"NV-InferRequest": SLOW})
    assert (answer.code, code_of(answer.status)) == (400, "INVALID_ARG")
    assert "is too large: expected a number of at most " in answer.status.msg
    assert len(answer.status.msg) < 200
    assert gateway.log_text() == log


@pytest.mark.parametrize("target", ["http://triton.example", "HTTP://x:8000", "https://x"])
def test_absolute_targets(gateway: Gateway, target: str) -> None:
    """A target may have scheme and host, as clients send it to a proxy."""
    assert Raw(gateway, LIVE.format(target).encode()).answer().code == 200
    whole = WHOLE.replace(b"POST /", f"POST {target}/".encode(), 1)
    assert code_of(Raw(gateway, whole).answer().status) == "SUCCESS"


def test_answers_name_no_versions(gateway: Gateway) -> None:
    """The header Server, which v1 did not have, names neither a version nor a library."""
    unknown = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
    answers = [Raw(gateway, data).answer() for data in (LIVE.format("").encode(), unknown, WHOLE)]
    assert [answer.code for answer in answers] == [200, 400, 200]
    assert {answer.headers["Server"] for answer in answers} == {"tritonclient-shim"}

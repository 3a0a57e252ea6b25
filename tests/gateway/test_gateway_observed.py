"""What an operator sees of a gateway: figures, its own health, and the access log."""

from __future__ import annotations

import json
import queue
import urllib.error
import urllib.request
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, until
from tests.gateway.gateway_process import Gateway, StartGateway
from tests.gateway.grpc_requests import simple

pytest_plugins = ["tests.gateway.gateway_fixtures"]

NAME = "tritonclient_shim_gateway_"
OPTIONS = ("--metrics-address", "127.0.0.1:0")


def fetched(gateway: Gateway, path: str) -> tuple[int, str]:
    """Status and text at the address of the metrics."""
    try:
        with urllib.request.urlopen(f"http://{gateway.metrics}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def figures(gateway: Gateway) -> dict[tuple[str, ...], float]:
    """Name and values of the labels → the value."""
    found = {}
    for family in text_string_to_metric_families(fetched(gateway, "/metrics")[1]):
        for one in family.samples:
            labels = [text for label, text in sorted(one.labels.items()) if label != "le"]
            if not one.name.endswith("_bucket"):
                name = one.name.replace(NAME, "")
                labelled = (name, *labels)
                found[labelled] = one.value
    return found


def test_figures(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Requests by code, their bytes and times, and what is open now."""
    gateway = start_gateway("--triton-grpc", behind.grpc, *OPTIONS)
    for _ in range(10):
        answer = gateway.infer("simple", SIMPLE, BODY)
    gateway.infer("nope", SIMPLE, BODY)
    gateway.get("/api/status/nope")
    gateway.get("/nowhere")
    gateway.call("Infer", simple())
    assert len(list(gateway.stream([simple(1), simple(2)]))) == 2
    found = figures(gateway)
    counted = {
        labels[1:]: value for labels, value in found.items() if labels[0] == "requests_total"
    }
    assert counted == {
        ("Infer", "SUCCESS", "http"): 10,
        ("Infer", "UNAVAILABLE", "http"): 1,  # v1's code of an unknown model
        ("Status", "INVALID_ARG", "http"): 1,
        ("-", "-", "http"): 1,
        ("Infer", "SUCCESS", "grpc"): 1,
        ("StreamInfer", "SUCCESS", "grpc"): 2,
    }
    assert found["request_seconds_count", "Infer", "http"] == 11
    assert 0 < found["request_seconds_sum", "Infer", "http"] < 60
    assert found["received_bytes_total", "http"] == 11 * len(BODY)
    assert found["sent_bytes_total", "http"] >= 10 * len(answer.body)
    assert found["upstream_seconds_count", "grpc"] == 1
    assert found["in_flight", "http"] == found["in_flight", "grpc"] == found[("streams",)] == 0


def test_what_is_in_progress(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Open streams are counted while they are open."""
    gateway = start_gateway("--triton-grpc", behind.grpc, *OPTIONS)
    requests: queue.Queue[Any] = queue.Queue()
    responses = gateway.stream(iter(requests.get, None))
    until(lambda: figures(gateway).get(("streams",)) == 1)
    responses.cancel()
    requests.put(None)
    until(lambda: figures(gateway).get(("streams",), 0) == 0)


def test_its_own_health(start_gateway: StartGateway) -> None:
    """/livez and /readyz do not ask Triton; a stop begins with not being ready."""
    options = ("--triton-grpc", "127.0.0.1:9", "--drain", "60")
    gateway = start_gateway(*OPTIONS, *options)
    assert fetched(gateway, "/livez") == (200, "live\n")
    assert fetched(gateway, "/readyz") == (200, "ready\n")
    gateway.terminate()
    until(lambda: fetched(gateway, "/readyz") == (503, "not ready\n"))
    assert fetched(gateway, "/livez")[0] == 200
    gateway.terminate()
    gateway.process.wait(30)


def test_the_log_as_text(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Each line has code, time, bytes and peer; each request of a stream has one."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--access-log")
    answer = gateway.infer("simple", SIMPLE, BODY)
    list(gateway.stream([simple(1), simple(2)]))
    first, *streamed = gateway.said().splitlines()
    assert "http POST /api/infer/simple SUCCESS 1 " in first
    assert f" ms {len(BODY)} bytes in {len(answer.body)} bytes out from 127.0.0.1:" in first
    assert len(streamed) == 2
    assert all("grpc StreamInfer simple SUCCESS " in line for line in streamed)
    assert all("from ipv4:127.0.0.1:" in line for line in streamed)


def test_the_log_as_json(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Each line of it is a JSON object, with nothing before."""
    options = ("--access-log", "json")
    gateway = start_gateway("--triton-grpc", behind.grpc, *options)
    answer = gateway.infer("simple", SIMPLE, BODY)
    gateway.call("Infer", simple())
    list(gateway.stream([simple(1)]))
    lines = [json.loads(line) for line in gateway.said().splitlines()]
    assert [one["call"] for one in lines] == ["Infer", "Infer", "StreamInfer"]
    assert {one["model"] for one in lines} == {"simple"}
    assert {one["code"] for one in lines} == {"SUCCESS"}
    assert lines[0]["received"] == len(BODY) and lines[0]["peer"].startswith("127.0.0.1:")
    assert [one["sent"] for one in lines][0] == len(answer.body)
    assert all(0 < one["seconds"] < 60 and one["sent"] for one in lines)

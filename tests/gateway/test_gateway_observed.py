"""What an operator sees of a gateway: metrics, its own health, and the access log."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from prometheus_client.parser import text_string_to_metric_families

from testbed import TritonServer
from tests.gateway.bad_clients import Raw, chunk, head
from tests.gateway.gateway_process import (
    SURROUNDINGS,
    Client,
    Gateway,
    StartGateway,
    ask,
    code_of,
    until,
)
from tests.gateway.grpc_requests import BODY, SIMPLE, SLOW, seconds, simple, slow
from tritonclient_shim.protos import grpc_service_pb2 as pb
from tritonclient_shim.protos.grpc_service_pb2_grpc import SERVICE

NAME = "tritonclient_shim_gateway_"
OPTIONS = ("--metrics-address", "127.0.0.1:0")


def page(gateway: Gateway, path: str) -> tuple[int, str]:
    """Return the status and the text of a page at the address of the metrics."""
    answer = ask(gateway.metrics, "GET", path)
    return answer.code, answer.body.decode()


def metrics(gateway: Gateway) -> dict[tuple[str, ...], float]:
    """Return the metrics: name and values of the labels → the value."""
    values = {}
    for family in text_string_to_metric_families(page(gateway, "/metrics")[1]):
        for sample in family.samples:
            labels = [text for label, text in sorted(sample.labels.items()) if label != "le"]
            if not sample.name.endswith("_bucket"):
                labelled = (sample.name.replace(NAME, ""), *labels)
                values[labelled] = sample.value
    return values


def test_figures(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Metrics count requests by code, their bytes and times, and open requests and streams."""
    gateway = start_gateway("--triton-grpc", behind.grpc, *OPTIONS)
    for _ in range(10):
        answer = gateway.infer("simple", SIMPLE, BODY)
    gateway.infer("nope", SIMPLE, BODY)
    gateway.get("/api/status/nope")
    gateway.get("/nowhere")
    gateway.call("Infer", simple())
    talk = gateway.talk()
    talk.ask(simple(1), simple(2))
    assert metrics(gateway)[("streams",)] == 1
    assert talk.end() == []
    until(lambda: metrics(gateway)[("streams",)] == 0)
    values = metrics(gateway)
    counted = {
        labels[1:]: value for labels, value in values.items() if labels[0] == "requests_total"
    }
    assert counted == {
        ("Infer", "SUCCESS", "http"): 10,
        ("Infer", "UNAVAILABLE", "http"): 1,  # v1's code of an unknown model
        ("Status", "INVALID_ARG", "http"): 1,
        ("-", "-", "http"): 1,
        ("Infer", "SUCCESS", "grpc"): 1,
        ("StreamInfer", "SUCCESS", "grpc"): 2,
    }
    assert values["request_seconds_count", "Infer", "http"] == 11
    assert 0 < values["request_seconds_sum", "Infer", "http"] < 60
    assert values["received_bytes_total", "http"] == 11 * len(BODY)
    assert values["sent_bytes_total", "http"] >= 10 * len(answer.body)
    assert values["upstream_seconds_count", "grpc"] == 1
    assert values["in_flight", "http"] == values["in_flight", "grpc"] == values[("streams",)] == 0


def test_the_wait_for_a_slot_is_no_time_of_triton(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """Requests that wait for a slot are not counted in upstream_seconds meanwhile."""
    gateway = start_gateway("--triton-grpc", behind.grpc, *OPTIONS, "--max-in-flight", "1")
    start = time.monotonic()
    with ThreadPoolExecutor(5) as pool:
        answers = [pool.submit(gateway.call, "Infer", slow(number, 0.5)) for number in range(5)]
        assert {code_of(answer.result().request_status) for answer in answers} == {"SUCCESS"}
    elapsed = time.monotonic() - start
    values = metrics(gateway)
    # with one slot, the times of Triton do not overlap
    assert 2.5 <= values["upstream_seconds_sum", "grpc"] <= elapsed
    assert values["request_seconds_sum", "Infer", "grpc"] > values["upstream_seconds_sum", "grpc"]


def test_its_own_health(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A gateway that stops is not ready, and answers requests for --drain seconds."""
    gateway = start_gateway(*OPTIONS, "--triton-grpc", behind.grpc, "--drain", "60")
    assert page(gateway, "/livez") == (200, "live\n")
    assert page(gateway, "/readyz") == (200, "ready\n")
    gateway.terminate()
    until(lambda: page(gateway, "/readyz") == (503, "not ready\n"))
    assert gateway.get("/api/health/ready").code == 400
    assert page(gateway, "/livez")[0] == 200
    assert gateway.infer("simple", SIMPLE, BODY).code == 200
    gateway.terminate()
    gateway.process.wait(30)


def test_the_access_log(behind: TritonServer, start_gateway: StartGateway) -> None:
    """The log has a JSON object for each request, also on a stream; by default it is empty."""
    quiet = start_gateway("--triton-grpc", behind.grpc)
    quiet.infer("nope", SIMPLE, BODY)
    gateway = start_gateway("--triton-grpc", behind.grpc, "--access-log")
    answer = gateway.infer("simple", SIMPLE, BODY)
    gateway.get("/api/status/nope")
    gateway.call("Infer", simple())
    list(gateway.stream([simple(1), simple(2)]))
    status = gateway.call("Status", pb.StatusRequest(model_name="simple"))
    lines = [json.loads(line) for line in gateway.log_lines(6)]
    assert [(line["call"], line["model"], line["code"]) for line in lines] == [
        ("Infer", "simple", "SUCCESS"),
        ("Status", "", "INVALID_ARG"),
        ("Infer", "simple", "SUCCESS"),
        *[("StreamInfer", "simple", "SUCCESS")] * 2,
        ("Status", "", "SUCCESS"),
    ]
    assert [line["request_id"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert lines[-1]["sent"] == status.ByteSize()
    assert (lines[0]["received"], lines[0]["sent"]) == (len(BODY), len(answer.body))
    assert lines[0]["request"] == "POST /api/infer/simple"
    assert lines[0]["peer"].startswith("127.0.0.1:")
    assert lines[-1]["peer"].startswith("ipv4:127.0.0.1:")
    assert all(0 < line["seconds"] < 60 for line in lines)
    assert quiet.log_text() == ""


def test_refusals(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Each refusal of the gateway itself is counted by its reason, and its kind logged once."""
    limits = ("--max-in-flight", "1", "--max-body-bytes", "1000", "--client-timeout", "1")
    gateway = start_gateway("--triton-grpc", behind.grpc, *OPTIONS, *limits)
    for _ in range(2):
        gateway.get("/nowhere")
        gateway.infer("simple", "nonsense", BODY)
        gateway.post("/api/infer/simple", BODY)
        gateway.infer("simple", SIMPLE, bytes(1001))
        gateway.post("/api/infer/simple", BODY, **{"NV-InferRequest": "x" * 300_000})
        headers = {"NV-InferRequest": SIMPLE, "Content-Encoding": "gzip"}
        gateway.post("/api/infer/simple", BODY, **headers)
    chunked = head("Transfer-Encoding: chunked")
    for unread in (chunked + chunk(bytes(1001)), head("Content-Length: 128")):
        Raw(gateway, unread).answer()
    with Client(gateway.grpc) as client:
        for path, data in (("nowhere", b""), ("Infer", b"\xff"), ("Status", b"\xff")):
            with pytest.raises(grpc.RpcError):
                client.channel.unary_unary(f"/{SERVICE}/{path}")(data, timeout=60)
        with pytest.raises(grpc.RpcError):
            list(client.channel.stream_stream(f"/{SERVICE}/StreamInfer")(iter([b"\xff"])))
        streams = [client.talk() for _ in range(16)]
        for stream in streams:
            stream.ask(simple(1))
        assert client.code(simple()) == "RESOURCE_EXHAUSTED"
        for stream in streams:
            stream.end()
    values = metrics(gateway)
    counts = {key[1:]: value for key, value in values.items() if key[0] == "refused_total"}
    assert counts == {
        ("http", "path"): 2,
        ("http", "NV-InferRequest"): 4,
        ("http", "size"): 3,
        ("http", "slow"): 1,
        ("http", "head"): 2,
        ("http", "encoding"): 2,
        ("grpc", "method"): 1,
        ("grpc", "message"): 3,
        ("grpc", "calls"): 1,
    }
    lines = gateway.log_lines(len(counts))
    assert len([line for line in lines if "the gateway has refused" in line]) == len(counts)


def test_a_malformed_body(
    behind: TritonServer, start_gateway: StartGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A malformed chunk in a body is counted, if aiohttp's parser in Python reads it."""
    monkeypatch.setitem(SURROUNDINGS["env"], "AIOHTTP_NO_EXTENSIONS", "1")
    gateway = start_gateway("--triton-grpc", behind.grpc, *OPTIONS)
    client = Raw(gateway, head("Transfer-Encoding: chunked", "Expect: 100-continue"))
    client.socket.recv(65536)  # now the gateway reads the body
    client.send(b"xyz\r\n")
    answer = client.answer()
    assert (answer.code, code_of(answer.status)) == (400, "INVALID_ARG")
    assert metrics(gateway)[("refused_total", "http", "body")] == 1


def test_a_client_that_left(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A request whose client has left before its response is no success."""
    gateway = start_gateway("--triton-grpc", behind.grpc, *OPTIONS)
    client = Raw(gateway, head("Content-Length: 4", path="/api/infer/slow", header=SLOW))
    client.send(seconds(1))
    until(lambda: metrics(gateway).get(("in_flight", "http")) == 1)
    client.close()
    until(lambda: metrics(gateway)["in_flight", "http"] == 0)
    assert metrics(gateway).get(("requests_total", "Infer", "-", "http")) == 1

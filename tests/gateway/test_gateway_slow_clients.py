"""Clients that send slowly, or not at all, keep neither the gateway nor other clients waiting."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, Raw, chunk, head, until
from tests.gateway.gateway_process import Answer, Gateway, StartGateway, code_of

pytest_plugins = ["tests.gateway.gateway_fixtures"]

MANY = 40
FLOATS = 'batch_size: 1 input { name: "INPUT0" dims: %d } output { name: "OUTPUT0" }'
IDENTITY = "/api/infer/identity_fp32"


def infer(gateway: Gateway) -> Answer:
    """One inference of a client that does everything right."""
    return gateway.infer("simple", SIMPLE, BODY)


def slow(gateway: Gateway) -> Raw:
    """A client that announces a body and sends half of it."""
    return Raw(gateway, head(f"Content-Length: {len(BODY)}") + BODY[:64])


def test_an_announced_size_takes_nothing(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A client that announces the largest body and sends nothing keeps nobody waiting."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    silent = Raw(gateway, head("Content-Length: 2147483647"))
    assert infer(gateway).code == 200
    silent.close()


def test_half_sent_bodies_take_no_slot(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Any number of half-sent bodies leave --max-in-flight to the requests that have arrived."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "4")
    clients = [slow(gateway) for _ in range(MANY)]
    assert infer(gateway).code == 200
    assert gateway.get("/api/health/live").code == 200
    assert gateway.get("/api/status/simple").code == 200
    for client in clients:  # which were only slow
        client.send(BODY[64:])
        assert client.answer().code == 200
        client.close()


@pytest.mark.parametrize(
    "sent",
    [head("Content-Length: 128") + BODY[:64], head("Transfer-Encoding: chunked") + b"40\r\n"],
    ids=["length", "chunked"],
)
def test_a_body_that_stops_is_refused(
    behind: TritonServer, start_gateway: StartGateway, sent: bytes
) -> None:
    """--client-timeout without a byte: 408, v1's status with what to do, connection closed."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--client-timeout", "1")
    client = Raw(gateway, sent)
    answer = client.answer()
    assert (answer.code, code_of(answer.status)) == (408, "UNAVAILABLE")
    assert "--client-timeout" in answer.status.msg and answer.status.request_id > 0
    assert client.rest() == b"" and gateway.said() == ""


def test_a_body_that_drips_is_refused(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A body must make progress: bytes that come one by one do not extend its time for ever."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--client-timeout", "1")
    client = Raw(gateway, head("Content-Length: 1000000"))
    until(lambda: not client.push(b"1", 0.1) or time.sleep(0.1) is not None)
    assert b" 408 " in client.rest()


@pytest.mark.parametrize("sent", [b"P", head("X: y")[:-2]], ids=["first", "last"])
def test_headers_have_a_time_limit(
    behind: TritonServer, start_gateway: StartGateway, sent: bytes
) -> None:
    """Headers that do not become complete: 408 with v1's status, connection closed."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--client-timeout", "1")
    answer = Raw(gateway, sent).rest()
    assert answer.startswith(b"HTTP/1.1 408 ") and b"NV-Status: code: UNAVAILABLE" in answer
    again = Raw(gateway, head(f"Content-Length: {len(BODY)}") + BODY)
    assert again.answer().code == 200
    again.send(sent)  # the second request of a connection likewise
    assert again.rest().startswith(b"HTTP/1.1 408 ")
    assert gateway.said() == ""


def test_a_connection_without_a_request_is_closed(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """Nothing sent: closed without an answer. After a request, a connection may be idle."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--client-timeout", "1")
    used = Raw(gateway, head(f"Content-Length: {len(BODY)}") + BODY)
    assert used.answer().code == 200
    assert Raw(gateway).rest() == b""
    used.send(head(f"Content-Length: {len(BODY)}") + BODY)
    assert used.answer().code == 200


@pytest.mark.parametrize("parts", [1, 2, 20])
def test_large_bodies_do_not_wait_on_each_other(
    behind: TritonServer, start_gateway: StartGateway, parts: int
) -> None:
    """Bodies that together exceed the sum are all answered, in whatever parts they arrive."""
    size = 3_000_000
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-body-bytes", "4000000")
    start = head("Transfer-Encoding: chunked", path=IDENTITY, header=FLOATS % (size // 4))

    def upload() -> int:
        client = Raw(gateway, start)
        for _ in range(parts):
            client.send(chunk(bytes(size // parts)))
        client.send(b"0\r\n\r\n")
        return client.answer().code

    with ThreadPoolExecutor(6) as pool:
        assert [one.result() for one in [pool.submit(upload) for _ in range(6)]] == [200] * 6


def test_idle_connections_are_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Beyond --max-connections, the connection that has been idle longest is closed."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-connections", "10")
    request = b"GET /api/health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    idle = []
    for _ in range(30):
        idle.append(Raw(gateway, request))
        assert idle[-1].answer().code == 200
    assert infer(gateway).code == 200
    assert idle[0].rest() == b""
    idle[-1].send(request)
    assert idle[-1].answer().code == 200


def test_silent_connections_are_bounded(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Connections that send nothing, headers or bodies in part give way to those that ask."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-connections", "10")
    held = [Raw(gateway, part) for part in (b"", head()[:20]) for _ in range(MANY)]
    held += [slow(gateway) for _ in range(MANY)]
    time.sleep(1.5)
    assert infer(gateway).code == 200
    assert gateway.get("/api/health/live").code == 200
    assert gateway.said() == ""
    for client in held:
        client.close()


def test_an_answer_that_nobody_takes(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A client that does not read its answer holds no slot, and is dropped after its time."""
    options = ("--max-in-flight", "1", "--client-timeout", "1")
    gateway = start_gateway("--triton-grpc", behind.grpc, *options)
    size = 20_000_000
    client = Raw(
        gateway, head(f"Content-Length: {size}", path=IDENTITY, header=FLOATS % (size // 4))
    )
    client.send(bytes(size))
    assert infer(gateway).code == 200
    time.sleep(4)
    assert len(client.rest()) < size
    assert gateway.said() == ""

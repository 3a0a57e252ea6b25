"""Clients that send slowly, or not at all, keep neither the gateway nor other clients waiting."""

from __future__ import annotations

import time

import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import BODY, SIMPLE, Raw, head
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

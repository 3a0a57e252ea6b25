"""Clients that send or read slowly, or leave, do not block the gateway for other clients."""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

import grpc
import pytest

from testbed import TritonServer
from tests.gateway.bad_clients import Raw, head
from tests.gateway.gateway_process import Client, StartGateway, code_of, until
from tests.gateway.grpc_requests import BODY, SLOW, seconds, serves, slow
from tests.relays import Relay

MANY = 40
FLOATS = 'batch_size: 1 input { name: "INPUT0" dims: %d } output { name: "OUTPUT0" }'
IDENTITY = "/api/infer/identity_fp32"


def test_half_sent_bodies_take_no_slot(behind: TritonServer, start_gateway: StartGateway) -> None:
    """Half-sent bodies take no slot of --max-in-flight.

    A client that announces the largest body and sends nothing takes none either.
    """
    gateway = start_gateway("--triton-grpc", behind.grpc, "--max-in-flight", "4")
    silent = Raw(gateway, head("Content-Length: 2147483647"))
    half = head(f"Content-Length: {len(BODY)}") + BODY[:64]
    clients = [Raw(gateway, half) for _ in range(MANY)]
    assert serves(gateway)
    assert gateway.get("/api/health/live").code == 200
    assert gateway.get("/api/status/simple").code == 200
    for client in clients:  # which were only slow
        client.send(BODY[64:])
        assert client.answer().code == 200
        client.close()
    silent.close()


@pytest.mark.parametrize(
    "sent",
    [head("Content-Length: 128") + BODY[:64], head("Transfer-Encoding: chunked") + b"40\r\n"],
    ids=["length", "chunked"],
)
def test_a_body_that_stops_is_refused(
    behind: TritonServer, start_gateway: StartGateway, sent: bytes
) -> None:
    """After --client-timeout without a byte, the answer is 408 with advice; the connection ends."""
    gateway = start_gateway("--triton-grpc", behind.grpc, "--client-timeout", "1")
    client = Raw(gateway, sent)
    answer = client.answer()
    assert (answer.code, code_of(answer.status)) == (408, "UNAVAILABLE")
    assert "--client-timeout" in answer.status.msg and answer.status.request_id > 0
    assert client.rest() == b""
    (line,) = gateway.log_lines(1)
    assert "the gateway has refused a http request (slow)" in line


def test_an_answer_that_nobody_takes(behind: TritonServer, start_gateway: StartGateway) -> None:
    """A client that does not read its answer holds no slot, and is dropped after its time."""
    options = ("--max-in-flight", "1", "--client-timeout", "1", "--access-log")
    gateway = start_gateway("--triton-grpc", behind.grpc, *options)
    size = 20_000_000
    header = FLOATS % (size // 4)
    client = Raw(gateway, head(f"Content-Length: {size}", path=IDENTITY, header=header))
    client.send(bytes(size))
    assert serves(gateway)
    until(lambda: "identity_fp32" in gateway.log_text())  # answered, as far as possible
    assert len(client.rest()) < size
    assert "Traceback" not in gateway.log_text()


def test_more_connections_than_file_descriptors(
    behind: TritonServer, start_gateway: StartGateway
) -> None:
    """Connections beyond the limit of file descriptors wait, and are accepted later."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    assert serves(gateway)
    descriptors = Path(f"/proc/{gateway.process.pid}/fd")
    limit = max(int(path.name) for path in descriptors.iterdir()) + 5
    resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
    clients = [Raw(gateway) for _ in range(10)]
    until((descriptors / str(limit - 1)).is_symlink)
    for client in clients:
        client.close()
    assert serves(gateway)


@pytest.mark.parametrize("rpc", ["Infer", "StreamInfer"])
def test_a_client_that_leaves_before_the_answer(
    behind: TritonServer, start_gateway: StartGateway, rpc: str
) -> None:
    """If the client leaves during an inference, nothing is logged and later requests succeed."""
    gateway = start_gateway("--triton-grpc", behind.grpc)
    with Relay(gateway.grpc) as relay, Client(relay.address, enable_retries=0) as client:
        talk = client.talk(rpc)
        relay.when_sent(b"slow", relay.cut)
        talk.send(slow(1, 1.0))
        with suppress(grpc.RpcError):
            talk.end()
    over_http = Raw(gateway, head("Content-Length: 4", path="/api/infer/slow", header=SLOW))
    over_http.send(seconds(1.0))
    over_http.close()
    gateway.call("Infer", slow(2, 1.5))  # longer than the rest of the requests before
    assert serves(gateway)
    assert gateway.log_text() == ""

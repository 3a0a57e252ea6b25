"""Parts of the gateway in an event loop of the test, for cases that no client can cause."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
from google.protobuf import text_format

from tests.gateway.gateway_process import PATIENCE
from tritonclient_shim.core.errors import TransportError, TransportKind
from tritonclient_shim.core.model import Endpoint, V1Reply, V1Result
from tritonclient_shim.gateway.access_log import AccessLog, Meter
from tritonclient_shim.gateway.http.responses import header_forms, status_header, success_text
from tritonclient_shim.gateway.http.service import HttpFront
from tritonclient_shim.gateway.options import GatewayOptions, ListenAddress
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.upstream import inference
from tritonclient_shim.gateway.upstream.calls import ControlCalls
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.protos import model_config_pb2, request_status_pb2
from tritonclient_shim.translate import v1_messages

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
ANYWHERE = ListenAddress("127.0.0.1", 0)
OPTIONS = GatewayOptions(ANYWHERE, ANYWHERE, Endpoint("grpc", "127.0.0.1:9", False))


def front() -> HttpFront:
    """Return an HTTP server without a Triton behind it."""
    stopping, log = Stopping(), AccessLog(False, Meter())
    upstream = Upstream(OPTIONS, stopping)
    inferences = inference.Inferences(upstream, OPTIONS, "http", Meter())
    return HttpFront(OPTIONS, upstream, inferences, ControlCalls(upstream), log, stopping)


@pytest.mark.parametrize("turns", range(6))
def test_a_stop_answers_whom_it_has_accepted(turns: int) -> None:
    """A client that connects just before the listener closes is answered."""

    async def ask() -> bytes:
        server = front()
        with socket.create_connection(("127.0.0.1", await server.open()), PATIENCE) as client:
            client.sendall(GET)
            for _ in range(turns):
                await asyncio.sleep(0)
            await server.stop(time.monotonic() + PATIENCE)
            return client.recv(100)

    assert asyncio.run(ask()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("kind", TransportKind)
def test_only_the_time_limit_names_its_option(kind: TransportKind) -> None:
    """Only an error of the kind TIMEOUT names --upstream-timeout, whatever its text."""
    session = Upstream(OPTIONS, Stopping()).session
    error = TransportError("GRPC client failed: 14: the proxy: Deadline Exceeded", kind=kind)
    named = "--upstream-timeout" in str(session.to_v1_error(error))
    assert named is (kind is TransportKind.TIMEOUT)


# ------------------------------- remembered texts of headers are as protobuf writes them


@pytest.mark.parametrize("id", [0, 1, 2**64 - 1])
@pytest.mark.parametrize("outputs", [0, 1, 200])  # 200 are more than is remembered
def test_response_headers(id: int, outputs: int) -> None:
    """A response header is protobuf's text and bytes, the first time and again.

    Text has no ``data_type``, because clients before 1.12 reject unknown fields.
    """
    results = [
        V1Result(f"OUTPUT{number}", "INT32", (16, number), 64, bytes(64))
        for number in range(outputs)
    ]
    reply = V1Reply('a "b"\n', 3, 2, tuple(results), id)
    header = v1_messages.response_header(reply)
    message = header.SerializeToString()
    assert [output.data_type for output in header.output] == [model_config_pb2.TYPE_INT32] * outputs
    for output in header.output:
        output.ClearField("data_type")
    line = text_format.MessageToString(header, as_one_line=True, as_utf8=False)
    body = text_format.MessageToString(header, as_utf8=False).encode()
    for _ in range(2):
        assert header_forms(reply) == (line, body, message)


@pytest.mark.parametrize("server_id", ["", "inference:0", 'a "b"'])
def test_statuses(server_id: str) -> None:
    """NV-Status is protobuf's text; a message too long for a header is cut."""
    for number in (1, 2, 2**63):
        status = request_status_pb2.RequestStatus(
            code=request_status_pb2.SUCCESS, server_id=server_id, request_id=number
        )
        assert success_text(status) == text_format.MessageToString(status, as_one_line=True)
    long = request_status_pb2.RequestStatus(msg="x" * 30_000)
    assert 16_000 < len(status_header(long)) < 20_000

"""Parts of the gateway in an event loop of the test, for what no client can bring about."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from tritonclient_shim.core.errors import InferenceServerException, TransportFault, TransportKind
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.gateway.access_log import AccessLog, Meter
from tritonclient_shim.gateway.http.service import HttpFront
from tritonclient_shim.gateway.options import GatewayOptions, ListenAddress
from tritonclient_shim.gateway.stopping import Stopping
from tritonclient_shim.gateway.upstream import inference
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.session.inference import Answer

PATIENCE = 30.0
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
ANYWHERE = ListenAddress("127.0.0.1", 0)
OPTIONS = GatewayOptions(ANYWHERE, ANYWHERE, Endpoint("grpc", "127.0.0.1:9", False))


@pytest.mark.parametrize("turns", range(6))
def test_a_stop_answers_whom_it_has_accepted(turns: int) -> None:
    """A client that connects just before the listener closes is answered."""

    async def ask() -> bytes:
        stopping, log = Stopping(), AccessLog("off", Meter())
        upstream = Upstream(OPTIONS.triton_grpc, OPTIONS, stopping)
        inferences = inference.Inferences(upstream, OPTIONS, "http", Meter())
        front = HttpFront(OPTIONS, upstream, inferences, log, stopping)
        with socket.create_connection(("127.0.0.1", await front.open()), PATIENCE) as client:
            client.sendall(GET)
            for _ in range(turns):
                await asyncio.sleep(0)
            await front.stop(time.monotonic() + PATIENCE)
            inferences.close()
            front.close()
            return client.recv(100)

    assert asyncio.run(ask()).startswith(b"HTTP/1.1 400 ")


def test_an_outcome_that_comes_too_late() -> None:
    """A reply to a request that a stop has given up is dropped."""

    async def settle() -> bool:
        arrived: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        arrived.cancel()
        inference._settle(arrived, InferenceServerException("too late"))
        return arrived.cancelled()

    assert asyncio.run(settle())


@pytest.mark.parametrize("kind", TransportKind)
def test_only_the_time_limit_names_its_option(kind: TransportKind) -> None:
    """A text like that of the time limit, such as a proxy's, does not blame --upstream-timeout."""
    session = Upstream(OPTIONS.triton_grpc, OPTIONS, Stopping())._session
    fault = TransportFault("GRPC client failed: 14: the proxy: Deadline Exceeded", kind=kind)
    named = "--upstream-timeout" in str(session.fault_to_error(fault))
    assert named is (kind is TransportKind.TIMEOUT)

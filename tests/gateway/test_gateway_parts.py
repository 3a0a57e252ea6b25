"""Parts of the gateway in an event loop of the test, for what no client can bring about."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, AsyncIterator

import pytest
from aiohttp import web

from tritonclient_shim.core.errors import InferenceServerException, TransportFault, TransportKind
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.gateway.http import service
from tritonclient_shim.gateway.http.answers import refusal
from tritonclient_shim.gateway.http.body_limits import FAIR_WAIT, Bodies
from tritonclient_shim.gateway.http.connections import Connections, HttpServer
from tritonclient_shim.gateway.operation import serve
from tritonclient_shim.gateway.options.table import GatewayOptions, ListenAddress
from tritonclient_shim.gateway.stopping import Stopping, stop_http
from tritonclient_shim.gateway.upstream import inference
from tritonclient_shim.gateway.upstream.server import Upstream
from tritonclient_shim.session.inference import Answer

PATIENCE = 30.0
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def serving(handler: Any, connections: Connections) -> AsyncIterator[int]:
    """The port on which the handler answers."""
    runner = web.ServerRunner(HttpServer(handler, connections))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def test_a_handler_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """A defect of the gateway is the server's error, not the request's, and is logged."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        raise RuntimeError("a defect")

    async def ask() -> bytes:
        connections = Connections(8, PATIENCE, lambda code, text: refusal(code), lambda: False)
        async with serving(handler, connections) as port:
            answers, requests = await asyncio.open_connection("127.0.0.1", port)
            requests.write(GET)
            line = await asyncio.wait_for(answers.readline(), PATIENCE)
            requests.close()
            return line

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(ask()).startswith(b"HTTP/1.1 500 ")
    assert "a defect" in caplog.text


@pytest.mark.parametrize("turns", range(6))
def test_a_stop_answers_whom_it_has_accepted(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that connects just before the listener closes is answered by a busy gateway, too."""
    # the event loop of a busy gateway has few turns in this time
    monkeypatch.setattr(service, "_HANDSHAKE", 0)

    async def ask() -> bytes:
        connections = Connections(8, PATIENCE, lambda code, text: refusal(code), lambda: False)

        async def handler(request: web.BaseRequest) -> web.StreamResponse:
            with connections.request(request.protocol, request.content):
                return refusal(400)

        anywhere = ListenAddress("127.0.0.1", 0)
        served: Any = SimpleNamespace(handle=handler, connections=connections)
        front = service.HttpFront(GatewayOptions(http=anywhere, grpc=anywhere), served)
        with socket.create_connection(("127.0.0.1", await front.open()), PATIENCE) as client:
            client.sendall(GET)
            for _ in range(turns):
                await asyncio.sleep(0)
            await stop_http(front, time.monotonic() + PATIENCE)
            return client.recv(100)

    assert asyncio.run(ask()).startswith(b"HTTP/1.1 400 ")


def test_a_slow_body_gives_way_to_a_connection() -> None:
    """At the limit, where nothing is idle, the slowest body is refused for the newest client."""
    relieved: list[int] = []

    def relieve() -> bool:
        relieved.append(1)
        return True

    async def ask() -> bytes:
        asked, answered = asyncio.Event(), asyncio.Event()

        async def handler(request: web.BaseRequest) -> web.StreamResponse:
            if not asked.is_set():  # the first client waits until the second has its answer
                asked.set()
                await asyncio.wait_for(answered.wait(), PATIENCE)
            return refusal(400)

        connections = Connections(1, PATIENCE, lambda code, text: refusal(code), relieve)
        async with serving(handler, connections) as port:
            _, first = await asyncio.open_connection("127.0.0.1", port)
            first.write(GET)
            await asyncio.wait_for(asked.wait(), PATIENCE)
            answers, second = await asyncio.open_connection("127.0.0.1", port)
            second.write(GET)
            line = await asyncio.wait_for(answers.readline(), PATIENCE)
            answered.set()
            first.close()
            second.close()
            return line

    assert asyncio.run(ask()).startswith(b"HTTP/1.1 400 ")
    assert relieved == [1]


class Content:
    """A stream of a body of which nothing more comes."""

    def __init__(self) -> None:
        self._refused: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def readany(self) -> bytes:
        """Wait until the body is refused."""
        await self._refused
        return b""

    def set_exception(self, reason: BaseException) -> None:
        """The body is refused."""
        self._refused.set_exception(reason)


def test_no_more_bodies_are_refused_than_needed() -> None:
    """Of two bodies that are too slow, the second stays if the first has freed enough."""

    async def refused() -> list[bool]:
        bodies = Bodies(100, PATIENCE)
        with bodies.receive(Content()) as small, bodies.receive(Content()) as large:
            reads = [asyncio.ensure_future(one.read()) for one in (small, large)]
            for body, size in ((small, 60), (large, 30)):
                body.arrived = size
                await bodies.hold(body, size)
            await asyncio.sleep(0)
            assert bodies.relieve(time.monotonic() + 2 * FAIR_WAIT, 20)
            await asyncio.sleep(0)
            found = [read.done() and read.exception() is not None for read in reads]
            reads[0].cancel()
            return found

    assert asyncio.run(refused()) == [False, True]


def test_an_outcome_that_comes_too_late() -> None:
    """What Triton answers to a request that a stop has given up is dropped."""

    async def settle() -> bool:
        arrived: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        arrived.cancel()
        inference._settle(arrived, InferenceServerException("too late"))
        return arrived.cancelled()

    assert asyncio.run(settle())


@pytest.mark.parametrize("kind", TransportKind)
def test_only_the_time_limit_names_its_option(kind: TransportKind) -> None:
    """A text like that of the time limit, such as a proxy's, does not blame --upstream-timeout."""
    nowhere = ListenAddress("127.0.0.1", 0)
    options = GatewayOptions(nowhere, nowhere, Endpoint("grpc", "h:1", False))
    session = Upstream(options.triton_grpc, options, Stopping())._session
    fault = TransportFault("GRPC client failed: 14: the proxy: Deadline Exceeded", kind=kind)
    named = "--upstream-timeout" in str(session.fault_to_error(fault))
    assert named is (kind is TransportKind.TIMEOUT)


@pytest.mark.parametrize(
    ("descriptors", "connections"), [(resource.RLIM_INFINITY, 100), (150, 75), (1, 1)]
)
def test_connections_and_file_descriptors(
    monkeypatch: pytest.MonkeyPatch, descriptors: int, connections: int
) -> None:
    """HTTP may have half of the process's descriptors; where they have no limit, what was asked."""
    nowhere = ListenAddress("127.0.0.1", 0)
    options = GatewayOptions(nowhere, nowhere, Endpoint("grpc", "h:1"), max_connections=100)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (descriptors, descriptors))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: None)
    assert serve._within_descriptors(options).max_connections == connections

"""Fixtures of the gateway's tests. Folders with such tests import them in their ``conftest.py``."""

from __future__ import annotations

from typing import Iterator

import pytest

from testbed import TritonServer
from tests.gateway import gateway_process
from tests.gateway.gateway_process import Gateway, StartGateway
from tests.gateway.rolling_restarts import Pair

MODELS = (
    *("simple", "simple_string", "identity_fp32", "identity_string", "classify", "classify_1000"),
    *("multi_version", "sequence_sum", "failing", "slow", "image_classifier", "flowers"),
)


@pytest.fixture(scope="session")
def behind() -> Iterator[TritonServer]:
    """Start the server behind the gateways; tests may load and unload ``spare``."""
    with TritonServer.start(models=MODELS) as server:
        yield server


@pytest.fixture(scope="session")
def gateway(behind: TritonServer) -> Iterator[Gateway]:
    """Start a gateway under v1's default server id."""
    running = Gateway("--triton-grpc", behind.grpc, "--server-id", "inference:0")
    yield running
    running.stop()


@pytest.fixture
def start_gateway() -> Iterator[StartGateway]:
    """Start throw-away gateways with the arguments of the command. They log to ``stderr``."""
    started: list[Gateway] = []

    def start(*arguments: str, stderr: int | None = None) -> Gateway:
        started.append(Gateway(*arguments, stderr=stderr))
        return started[-1]

    yield start
    for gateway in started:
        if gateway.process.poll() is None:
            gateway.stop()


@pytest.fixture(scope="module")
def pair(behind: TritonServer) -> Iterator[Pair]:
    """Start two gateways in front of one Triton."""
    # --drain: longer than any client rests between two requests, also on a busy machine
    both = Pair("--triton-grpc", behind.grpc, "--drain", "2")
    yield both
    both.stop()


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment of the gateways that a test starts."""
    environment = dict(gateway_process.SURROUNDINGS["env"])
    monkeypatch.setitem(gateway_process.SURROUNDINGS, "env", environment)
    return environment

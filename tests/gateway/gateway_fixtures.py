"""Fixtures of the gateway's tests; a module takes them with ``pytest_plugins``."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from testbed import TritonServer
from tests.gateway import oracle as genuine
from tests.gateway.gateway_process import Gateway, StartGateway

MODELS = (
    "simple",
    "simple_string",
    "identity_fp32",
    "identity_string",
    "classify",
    "classify_1000",
    "multi_version",
    "sequence_sum",
    "failing",
    "slow",
    "image_classifier",
    "flowers",
)


@pytest.fixture(scope="session")
def behind() -> Iterator[TritonServer]:
    """The server behind the gateways, with few models; tests may load and unload ``spare``."""
    with TritonServer.start(models=MODELS) as server:
        yield server


@pytest.fixture(scope="session")
def gateway(behind: TritonServer) -> Iterator[Gateway]:
    """A gateway that reaches Triton over gRPC only, under v1's default server id."""
    running = Gateway("--triton-grpc", behind.grpc, "--server-id", "inference:0")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def nameless_gateway(behind: TritonServer) -> Iterator[Gateway]:
    """A gateway under Triton's own id."""
    running = Gateway("--triton-grpc", behind.grpc)
    yield running
    running.stop()


@pytest.fixture
def start_gateway() -> Iterator[StartGateway]:
    """Starts throw-away gateways with the arguments of the command."""
    started: list[Gateway] = []

    def start(*arguments: str) -> Gateway:
        started.append(Gateway(*arguments))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture(scope="session")
def oracle() -> Any:
    """The environment of NVIDIA's own client, made now if need be."""
    try:
        return genuine.prepare()
    except genuine.NoOracle as reason:
        pytest.skip(str(reason))

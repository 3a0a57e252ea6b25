"""Three ways to send a request: HTTP, gRPC, and a gRPC stream, for tests of shared memory."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import InferContext
from testbed import TritonServer
from tests.server.shm_cases import Regions


@pytest.fixture(params=["HTTP", "GRPC", "stream"])
def way(request: pytest.FixtureRequest) -> str:
    """How requests travel."""
    name: str = request.param
    return name


@pytest.fixture
def open_context(triton: TritonServer, way: str) -> Iterator[Callable[[str], InferContext]]:
    """Opens contexts of the way on the session's server; closes them at teardown."""
    protocol = int(way != "HTTP")
    with contextlib.ExitStack() as opened:

        def open_context(model: Any) -> InferContext:
            context = InferContext(triton.url(protocol), protocol, model, streaming=way == "stream")
            return opened.enter_context(context)

        yield open_context


@pytest.fixture
def memory(triton: TritonServer, way: str) -> Iterator[Regions]:
    """Regions on the session's server, registered over the way's protocol."""
    protocol = int(way != "HTTP")
    made = Regions(triton.url(protocol), protocol)
    yield made
    made.remove()

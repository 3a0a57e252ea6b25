"""Fixtures of the tests with a server: contexts, shared-memory regions, ways to send requests."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import InferContext
from testbed import TritonServer
from tests.server.odd_servers import FailedServer, start_failed_server
from tests.server.shm_cases import Regions
from tests.server.stub_cases import join_threads, stub_at

Connect = Callable[..., InferContext]


@pytest.fixture
def connect(url: str, protocol: int) -> Iterator[Connect]:
    """Open InferContexts on the session's server over the protocol; close them at teardown."""
    with contextlib.ExitStack() as opened:

        def connect(model: Any, *args: Any, **kwargs: Any) -> InferContext:
            return opened.enter_context(InferContext(url, protocol, model, *args, **kwargs))

        yield connect


@pytest.fixture
def stream(triton: TritonServer) -> Iterator[Connect]:
    """Open streaming InferContexts on the session's server; close them at teardown."""
    with contextlib.ExitStack() as opened:

        def stream(model: Any, correlation_id: Any = 0, **kwargs: Any) -> InferContext:
            context = InferContext(
                triton.grpc, 1, model, correlation_id=correlation_id, streaming=True, **kwargs
            )
            return opened.enter_context(context)

        yield stream


@pytest.fixture(scope="session")
def failed_server() -> Iterator[FailedServer]:
    """Yield a server that failed to start but still answers."""
    server = start_failed_server()
    yield server
    server.stop()


@pytest.fixture
def stub(triton: TritonServer) -> Iterator[Any]:
    """Yield a raw stub on a channel of its own.

    Check at teardown that none of its threads is left.
    """
    with stub_at(triton.grpc) as stub:
        yield stub
    assert not join_threads()


@pytest.fixture
def regions(url: str, protocol: int) -> Iterator[Regions]:
    """Yield regions on the session's server, registered over the protocol."""
    regions = Regions(url, protocol)
    yield regions
    regions.remove()


@pytest.fixture(params=["HTTP", "GRPC", "stream"])
def way(request: pytest.FixtureRequest) -> str:
    """Return the style of the requests."""
    name: str = request.param
    return name


@pytest.fixture
def open_context(triton: TritonServer, way: str) -> Iterator[Connect]:
    """Open contexts of this way on the session's server; close them at teardown."""
    protocol = int(way != "HTTP")
    with contextlib.ExitStack() as opened:

        def open_context(model: Any, **kwargs: Any) -> InferContext:
            kwargs["streaming"] = way == "stream"
            context = InferContext(triton.url(protocol), protocol, model, **kwargs)
            return opened.enter_context(context)

        yield open_context


@pytest.fixture
def memory(triton: TritonServer, way: str) -> Iterator[Regions]:
    """Yield regions on the session's server, registered over the way's protocol."""
    protocol = int(way != "HTTP")
    regions = Regions(triton.url(protocol), protocol)
    yield regions
    regions.remove()

"""Every backend against the contract in ``contract.py``, on the session's server."""

from __future__ import annotations

import socket
from typing import Callable, Iterator

import pytest

from testbed import TritonServer
from tests.backends.contract import Contract
from tritonclient_shim import backends
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.model import PROTOCOLS, Endpoint

OpenBackend = Callable[[Endpoint], Backend]


@pytest.fixture(params=PROTOCOLS)
def wire(request: pytest.FixtureRequest) -> str:
    """Return the protocol under test, as Endpoint names it."""
    name: str = request.param
    return name


@pytest.fixture
def open_backend() -> Iterator[OpenBackend]:
    """Yield a function that opens backends. Close them at the end."""
    opened: list[Backend] = []

    def opener(endpoint: Endpoint) -> Backend:
        opened.append(backends.open_backend(endpoint))
        return opened[-1]

    yield opener
    for backend in opened:
        backend.close()


@pytest.fixture
def backend(open_backend: OpenBackend, wire: str, triton: TritonServer) -> Backend:
    """Return a backend on the session's server."""
    return open_backend(Endpoint(wire, triton.url(wire)))


@pytest.fixture
def dead_backend(open_backend: OpenBackend, wire: str) -> Backend:
    """Return a backend on a port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    return open_backend(Endpoint(wire, f"127.0.0.1:{port}"))


class TestBackend(Contract):
    """The contract, once per protocol."""

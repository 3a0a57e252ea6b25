"""The server inside the process, held to the contract that the real server fulfils."""

from __future__ import annotations

from typing import Callable, Iterator

import pytest

from tests.backends.contract import Contract
from tests.backends.in_process_models import STANDARD
from tritonclient_shim import testing
from tritonclient_shim.backends import open_backend as opened_backend
from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import Unsendable
from tritonclient_shim.core.model import Endpoint

OpenBackend = Callable[[Endpoint], Backend]


@pytest.fixture(params=["http", "grpc"])
def wire(request: pytest.FixtureRequest) -> str:
    """The protocol under test, as Endpoint names it."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def server() -> Iterator[testing.Server]:
    """A server with the standard models."""
    with testing.server(STANDARD) as running:
        yield running


@pytest.fixture
def open_backend() -> OpenBackend:
    """Opens a backend as sessions do."""
    return opened_backend


@pytest.fixture
def backend(server: testing.Server, wire: str) -> Backend:
    """A backend on the server."""
    return opened_backend(Endpoint(wire, server.url(wire)))


@pytest.fixture
def dead_backend(wire: str) -> Backend:
    """A backend on a server that has ended."""
    with testing.server(STANDARD) as gone:
        return opened_backend(Endpoint(wire, gone.url(wire)))


class TestInProcessBackend(Contract):
    """The contract, once per protocol."""

    def test_client(self, backend: Backend) -> None:
        """There is no connection for a client of tritonclient's; the refusal says so."""
        with pytest.raises(Unsendable, match="which no tritonclient client can reach") as caught:
            backend.client()
        assert backend.endpoint.address in caught.value.message

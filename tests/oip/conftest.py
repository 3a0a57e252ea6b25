"""Servers of the Open Inference Protocol other than Triton.

``scripts/test --env open-servers`` and ``scripts/test --all`` install them. Without a server its
tests are skipped, and the reason names what installs it.
"""

from __future__ import annotations

from typing import Iterator

import pytest

from testbed import KServeServer, MLServer
from testbed.open_environment import KSERVE, MLSERVER, Recipe, reason_to_skip
from testbed.process import RunningServer
from tests.gateway.conftest import start_gateway  # noqa: F401 (a fixture)


def _skip_unless_installed(recipe: Recipe) -> None:
    reason = reason_to_skip(recipe)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def mlserver() -> Iterator[MLServer]:
    """Start MLServer with every model of the table, and trained models of two libraries."""
    _skip_unless_installed(MLSERVER)
    with MLServer.start() as server:
        yield server


@pytest.fixture(scope="session")
def kserve() -> Iterator[KServeServer]:
    """Start KServe's model server with every model of the table."""
    _skip_unless_installed(KSERVE)
    with KServeServer.start() as server:
        yield server


@pytest.fixture(params=["mlserver", "kserve"])
def open_server(request: pytest.FixtureRequest) -> RunningServer:
    """Return MLServer, then KServe's server."""
    server: RunningServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def open_url(open_server: RunningServer, protocol: int) -> str:
    """Return the server's address for the protocol."""
    return open_server.url(protocol)

"""The other servers of the Open Inference Protocol.

They are installed by ``scripts/test --env open-servers`` and ``scripts/test --all``. Where they are
not, their tests are skipped and say what installs them.
"""

from __future__ import annotations

from typing import Iterator

import pytest

from testbed import KServeServer, MLServer
from testbed.open_environment import KSERVE, MLSERVER, Recipe, reason_to_skip
from testbed.process import RunningServer


def _wanted(recipe: Recipe) -> None:
    reason = reason_to_skip(recipe)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def mlserver() -> Iterator[MLServer]:
    """MLServer with every model of the table, and the trained ones of scikit-learn and XGBoost."""
    _wanted(MLSERVER)
    with MLServer.start() as server:
        yield server


@pytest.fixture(scope="session")
def kserve() -> Iterator[KServeServer]:
    """KServe's model server with every model of the table."""
    _wanted(KSERVE)
    with KServeServer.start() as server:
        yield server


@pytest.fixture(params=["mlserver", "kserve"])
def open_server(request: pytest.FixtureRequest) -> RunningServer:
    """One of these servers after the other."""
    server: RunningServer = request.getfixturevalue(request.param)
    return server


@pytest.fixture
def open_url(open_server: RunningServer, protocol: int) -> str:
    """Its address for the protocol."""
    return open_server.url(protocol)

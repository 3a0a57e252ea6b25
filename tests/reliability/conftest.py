"""Fixtures of the reliability tests, and the rows of their tables that only releases run."""

from __future__ import annotations

from typing import Iterator

import pytest

import tritonclient_shim
from testbed import TritonServer
from tests.gateway.conftest import gateway  # noqa: F401 (a fixture)
from tests.reliability.amounts import is_short
from tests.reliability.fuzzing import SEED
from tests.reliability.server_process import ServerProcess


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Deselect most rows of a large table, except in ``--all`` and ``--long``.

    Keep each seventh row.
    """
    rows: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "reliability/" in item.nodeid:
            rows.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for table in rows.values():
        step = min(7, max(1, len(table) // 2))
        for number, item in enumerate(table):
            if number % step:
                item.add_marker("release")


def pytest_report_header() -> str:
    """Return how to repeat a run whose examples are not the short profile's."""
    return "" if is_short() else f"fuzzed with RELIABILITY_SEED={SEED}"


@pytest.fixture(scope="session")
def behind(triton: TritonServer) -> TritonServer:
    """Return the server behind the gateway."""
    return triton


@pytest.fixture(scope="session")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start the server of all tests here that end or stop a server."""
    server = ServerProcess(tmp_path_factory.mktemp("models"))
    yield server
    server.close()


@pytest.fixture
def server(restarted: ServerProcess) -> Iterator[ServerProcess]:
    """Yield a server for one test to end, stop or reload. Afterwards it runs again."""
    yield restarted
    tritonclient_shim.configure(network_timeout=None, keepalive_time=None, keepalive_timeout=None)
    restarted.restore()

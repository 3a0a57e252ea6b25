"""The server of the round trips."""

from __future__ import annotations

from typing import Iterator

import pytest

from testbed import TritonServer
from tests.migrate.round_trips import RoundTrips


@pytest.fixture(scope="session")
def round_trips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoundTrips]:
    """Return the programs, on a server of their own: the shared one may not be ready."""
    with TritonServer.start() as server:
        yield RoundTrips(server, tmp_path_factory.mktemp("round_trips"))

"""The server of the round trips."""

from __future__ import annotations

from typing import Iterator

import pytest

from testbed import TritonServer
from tests.migrate.round_trips import RoundTrips


@pytest.fixture(scope="session")
def round_trips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RoundTrips]:
    """Yield the round trips on a separate server. The shared server may not be ready."""
    with TritonServer.start() as server:
        yield RoundTrips(server, tmp_path_factory.mktemp("round_trips"))

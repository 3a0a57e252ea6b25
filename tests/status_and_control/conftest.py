"""A server that failed to start."""

from __future__ import annotations

from typing import Iterator

import pytest

from tests.odd_servers import FailedServer, start_failed_server


@pytest.fixture(scope="session")
def failed_server() -> Iterator[FailedServer]:
    """Yield a server that failed to start but still answers."""
    with start_failed_server() as server:
        yield server

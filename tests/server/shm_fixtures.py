"""Shared-memory regions for tests; a module takes the fixtures with ``pytest_plugins``."""

from __future__ import annotations

from typing import Iterator

import pytest

from tests.server.shm_cases import Regions


@pytest.fixture
def regions(url: str, protocol: int) -> Iterator[Regions]:
    """Regions on the session's server, registered over the protocol."""
    made = Regions(url, protocol)
    yield made
    made.remove()

"""Regions of shared memory on the session's server."""

from __future__ import annotations

from typing import Iterator

import pytest

from testbed import TritonServer
from tests.shared_memory.shm_cases import Regions


@pytest.fixture
def regions(url: str, protocol: int) -> Iterator[Regions]:
    """Yield regions on the session's server, registered over the protocol."""
    regions = Regions(url, protocol)
    yield regions
    regions.remove()


@pytest.fixture
def memory(triton: TritonServer, way: str) -> Iterator[Regions]:
    """Yield regions on the session's server, registered over the way's protocol."""
    protocol = int(way != "HTTP")
    regions = Regions(triton.url(protocol), protocol)
    yield regions
    regions.remove()

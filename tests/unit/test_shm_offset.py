"""Regions that begin in the middle of an object (docs/v2-mapping.md §8)."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.core.errors import ServerFault
from tritonclient_shim.core.metadata import ServerMetadata
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.session.shared_memory import register_system


class Backend:
    """A server of some version, which keeps what it is told to register."""

    endpoint = Endpoint("grpc", "a-server:1")

    def __init__(self, version: str) -> None:
        self._version = version
        self.registered: list[Any] = []

    def server_metadata(self) -> ServerMetadata:
        """Its version."""
        return ServerMetadata("triton", self._version)

    def shm_status(self) -> list[Any]:
        """No regions."""
        return []

    def register_system(self, *region: Any) -> None:
        """Keep it."""
        self.registered.append(region)


@pytest.mark.parametrize("version", ["2.61.0", "2.70.0", "3.0.0", "v5"])
def test_later_servers(version: str) -> None:
    """Triton from 2.61 on, and a server of unknown version, gets the offset as it is."""
    backend: Any = Backend(version)
    register_system(backend, "r", "/k", 64, 4096)
    assert backend.registered == [("r", "/k", 64, 4096)]


@pytest.mark.parametrize("version", ["2.60.0", "2.5.0", "1.15.0"])
def test_earlier_servers(version: str) -> None:
    """An earlier one would add it twice: refused, and nothing is registered."""
    backend: Any = Backend(version)
    with pytest.raises(ServerFault, match="with offset 0 and byte size 4160, and add 4096"):
        register_system(backend, "r", "/k", 64, 4096)
    assert backend.registered == []


def test_no_offset() -> None:
    """Without an offset, as v1's own functions register, the server is not asked its version."""
    backend: Any = Backend("2.51.0")
    backend.server_metadata = None
    register_system(backend, "r", "/k", 64)
    assert backend.registered == [("r", "/k", 64, 0)]

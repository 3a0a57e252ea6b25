"""A session's backend and v1's two families of errors (docs/v1-behaviour.md §1.6)."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    ServerError,
)
from tritonclient_shim.core.model import HTTP, Endpoint, ServerMetadata
from tritonclient_shim.servers.known import KnownServer
from tritonclient_shim.session import server as module
from tritonclient_shim.session.server import ServerSession

ENDPOINT = Endpoint(HTTP, "host:1")


class FakeBackend:
    """A server that returns its metadata, or fails to."""

    def __init__(self, metadata: ServerMetadata | BackendError) -> None:
        self.metadata = metadata
        self.asked = 0
        self.closed = 0
        self.known = KnownServer()

    def server_metadata(self) -> ServerMetadata:
        self.asked += 1
        if isinstance(self.metadata, BackendError):
            raise self.metadata
        return self.metadata

    def known_server(self) -> KnownServer:
        return self.known

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Any:
    fake = FakeBackend(ServerMetadata("inference:0", "2"))
    monkeypatch.setattr(module, "open_backend", lambda endpoint, headers, settings: fake)
    return fake


def test_server_that_hides_its_id(backend: FakeBackend) -> None:
    """An error is raised also without a server id. The next error requests the id again."""
    # docs/v1-behaviour.md §1.6
    session = ServerSession(ENDPOINT)
    backend.metadata = ServerError("restricted", "UNAVAILABLE")
    assert str(session.server_error("no", 3)) == "[ 3] no"
    backend.metadata = ServerMetadata("late", "2")
    assert session.server_error("no", 3).server_id() == "late"


def test_advice_names_the_address_as_doctor_takes_it(backend: FakeBackend) -> None:
    """TLS keeps its scheme, shell characters are quoted, and a password is not repeated."""
    session = ServerSession(Endpoint("http", "user:s3cret@host/a b", secure=True))
    advice = session.to_v1_error(ForeignError("html")).debug_details()
    assert advice.startswith("(host/a b; is this")
    assert "doctor --url 'https://host/a b' --protocol http)" in advice
    assert "s3cret" not in advice

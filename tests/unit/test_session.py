"""A session's backend and v1's two families of errors (docs/v1-behaviour.md §1.6)."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    ServerError,
    TransportError,
    Unsendable,
    cause_of,
)
from tritonclient_shim.core.metadata import ServerMetadata
from tritonclient_shim.core.model import HTTP, Endpoint
from tritonclient_shim.session import server as module
from tritonclient_shim.session.server import ServerSession

ENDPOINT = Endpoint(HTTP, "host:1")


class FakeBackend:
    """A server that returns its metadata, or fails to."""

    def __init__(self, metadata: ServerMetadata | BackendError) -> None:
        self.metadata = metadata
        self.asked = 0
        self.closed = 0

    def server_metadata(self) -> ServerMetadata:
        self.asked += 1
        if isinstance(self.metadata, BackendError):
            raise self.metadata
        return self.metadata

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Any:
    fake = FakeBackend(ServerMetadata("inference:0", "2"))
    monkeypatch.setattr(module, "open_backend", lambda endpoint, headers, settings: fake)
    return fake


def test_opens_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a context opens nothing. The first use opens a backend once, with the headers."""
    # docs/v1-behaviour.md §6
    opened: list[object] = []

    def open_backend(*arguments: object) -> FakeBackend:
        opened.append(arguments)
        return FakeBackend(ServerMetadata("", ""))

    monkeypatch.setattr(module, "open_backend", open_backend)
    session = ServerSession(ENDPOINT, (("A", "1"),))
    assert opened == []
    assert session.backend is session.backend
    assert opened == [(ENDPOINT, (("A", "1"),), session.settings)]


def test_close(backend: Any) -> None:
    """close is idempotent, also for a session that was never used."""
    # docs/v1-behaviour.md §6
    session = ServerSession(ENDPOINT)
    session.close()
    assert session.backend == backend
    session.close()
    session.close()
    assert backend.closed == 1


def test_two_threads_open_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """If two threads open a backend, one is closed and both threads use the other."""
    session = ServerSession(ENDPOINT)
    first: Any = FakeBackend(ServerMetadata("", ""))
    second: Any = FakeBackend(ServerMetadata("", ""))
    pending: list[FakeBackend] = [second, first]

    def open_backend(*_: object) -> FakeBackend:
        opened = pending.pop()
        if pending:
            assert session.backend == second  # the other thread, in the middle of ours
        return opened

    monkeypatch.setattr(module, "open_backend", open_backend)
    assert session.backend == second
    assert (first.closed, second.closed) == (1, 0)


def test_server_family(backend: FakeBackend) -> None:
    """A server's refusal has its id and a positive request id; its message has no prefix."""
    # docs/v1-behaviour.md §1.6
    session = ServerSession(ENDPOINT)
    error = session.to_v1_error(ServerError("no", "NOT_FOUND", "404"), 17)
    assert str(error) == "[inference:0 17] no"
    assert (error.message(), error.status()) == ("no", "404")
    assert session.server_error("x").request_id() > 0
    assert backend.asked == 1


def test_server_that_hides_its_id(backend: FakeBackend) -> None:
    """An error is raised also without a server id. The next error requests the id again."""
    # docs/v1-behaviour.md §1.6
    session = ServerSession(ENDPOINT)
    backend.metadata = ServerError("restricted", "UNAVAILABLE")
    assert str(session.server_error("no", 3)) == "[ 3] no"
    backend.metadata = ServerMetadata("late", "2")
    assert session.server_error("no", 3).server_id() == "late"


@pytest.mark.parametrize(
    ("backend_error", "message"),
    [
        (TransportError("HTTP client failed: x", "s"), "HTTP client failed: x"),
        (ForeignError("html"), "status request did not return status"),
    ],
)
def test_client_family(backend: FakeBackend, backend_error: BackendError, message: str) -> None:
    """A client error has server id '' and request id 0 (docs/v1-behaviour.md §1.6, §0.1)."""
    error = ServerSession(ENDPOINT).to_v1_error(
        backend_error, 9, "status request did not return status"
    )
    assert (error.message(), error.server_id(), error.request_id()) == (message, "", 0)
    assert error.debug_details().startswith(f"({ENDPOINT.address}; is this Triton's HTTP port? ")
    assert backend.asked == 0


def test_advice_names_the_address_as_doctor_takes_it(backend: FakeBackend) -> None:
    """TLS keeps its scheme, shell characters are quoted, and a password is not repeated."""
    session = ServerSession(Endpoint("http", "user:s3cret@host/a b", secure=True))
    advice = session.to_v1_error(ForeignError("html")).debug_details()
    assert advice.startswith("(host/a b; is this")
    assert "doctor --url 'https://host/a b' --protocol http)" in advice
    assert "s3cret" not in advice


def test_what_was_not_sent_has_no_advice(backend: FakeBackend) -> None:
    """An error without network access does not mention the address."""
    error = ServerSession(ENDPOINT).to_v1_error(Unsendable("a name with a line break"))
    assert error.debug_details() is None
    assert not hasattr(error, "__notes__")


def test_guard_chains(backend: FakeBackend) -> None:
    """An error inside the guard is raised in v1's words, with the original as its cause."""
    error = ServerError("failed to load 'm', failed to poll from model repository", "INTERNAL")
    with pytest.raises(InferenceServerException) as caught, ServerSession(ENDPOINT).guard(4):
        raise error
    assert caught.value.message() == "failed to load 'm', no version is available"
    assert cause_of(caught.value) is error
    assert caught.value.debug_details() == error.message

"""The server inside the process against the real server's contract."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any, Iterator

import pytest

from tests.backends.contract import Contract
from tests.backends.contract_calls import PATIENCE, simple
from tests.backends.contract_refusals import REFUSALS
from tests.backends.in_process_models import STANDARD
from tests.backends.test_contract import OpenBackend, open_backend, wire
from tritonclient_shim import testing
from tritonclient_shim.backends.base import Backend, Outcome
from tritonclient_shim.core.errors import Unsendable
from tritonclient_shim.core.model import Endpoint, InferReply

__all__ = ["open_backend", "wire"]

#: Refusals of Triton that no program meets, because a context checks before it sends.
CHECKED_BEFORE = (
    "one input of two",
    "another input",
    "an input twice",
    "another output",
    "another datatype",
    "unequal rows",
    "too many rows",
    "two rows of a sequence",
)


@pytest.fixture(scope="module")
def server() -> Iterator[testing.Server]:
    """Yield a server with the standard models."""
    with testing.server(STANDARD) as running:
        yield running


@pytest.fixture
def backend(open_backend: OpenBackend, wire: str, server: testing.Server) -> Backend:
    """Return a backend on the server."""
    return open_backend(Endpoint(wire, server.url(wire)))


@pytest.fixture
def dead_backend(open_backend: OpenBackend, wire: str) -> Backend:
    """Return a backend on a server that has ended."""
    with testing.server(STANDARD) as gone:
        return open_backend(Endpoint(wire, gone.url(wire)))


class TestInProcessBackend(Contract):
    """The contract, once per protocol."""

    def test_client(self, backend: Backend) -> None:
        """Without a connection unwrap is refused with the reason."""
        with pytest.raises(Unsendable, match="which no tritonclient client can reach") as caught:
            backend.client()
        assert backend.endpoint.address in caught.value.message

    # contexts read its configurations, and it counts nothing
    test_model_metadata = None  # type: ignore[assignment]
    test_statistics_count_inferences = None  # type: ignore[assignment]
    test_statistics_of_unknown_model = None  # type: ignore[assignment]

    @pytest.mark.parametrize("case", [case for case in REFUSALS if case not in CHECKED_BEFORE])
    def test_refusal(self, backend: Backend, case: str) -> None:
        """A request that contexts let pass, and that does not fit its model, is refused."""
        super().test_refusal(backend, case)

    def test_stream_of_either_protocol(self, backend: Any) -> None:
        """A stream answers a request under its id."""
        replies: SimpleQueue[tuple[str, Outcome]] = SimpleQueue()
        stream = backend.open_stream(lambda *reply: replies.put(reply), lambda _: None)
        stream.send(simple(request_id="7"))
        wire_id, outcome = replies.get(timeout=PATIENCE)
        stream.close()
        assert wire_id == "7"
        assert isinstance(outcome, InferReply)

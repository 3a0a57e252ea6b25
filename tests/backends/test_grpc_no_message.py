"""gRPC calls that a server ends with status OK and without a message."""

from __future__ import annotations

import queue
from typing import Any, Callable, Iterator

import pytest

from tensorrtserver.api import (
    InferContext,
    InferenceServerException,
    ModelRepositoryContext,
    ServerHealthContext,
    ServerStatusContext,
    SharedMemoryControlContext,
)
from tests.backends.http2_server import GRPC_HEADERS, Http2Server, headers
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.base import Outcome
from tritonclient_shim.core.errors import UnreadableReply
from tritonclient_shim.core.model import Endpoint, InferCall

UNREADABLE = r"\[ 0\] the server's answer could not be read: .*; expected .*; check the server at"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Yield the address of a server that answers every call so."""

    def answer(stream: int) -> bytes:
        return headers(stream, [*GRPC_HEADERS, ("grpc-status", "0")], end=True)

    with Http2Server(answer) as server:
        yield server.address


@pytest.mark.parametrize(
    "ask",
    [
        lambda url: InferContext(url, 1, "m"),
        lambda url: InferContext(url, 1, "m", streaming=True),
        lambda url: ServerStatusContext(url, 1).get_server_status(),
        lambda url: ServerStatusContext(url, 1, "m").get_server_status(),
        lambda url: ModelRepositoryContext(url, 1).get_model_repository_index(),
        lambda url: SharedMemoryControlContext(url, 1).get_shared_memory_status(),
        lambda url: ServerHealthContext(url, 1).is_live(),
        lambda url: ServerHealthContext(url, 1).is_ready(),
    ],
    ids=["unary", "stream", "status", "model", "index", "regions", "live", "ready"],
)
def test_contexts(ask: Callable[[str], Any], url: str) -> None:
    """The error of the call is a sentence, not an exception of Python's."""
    with pytest.raises(InferenceServerException, match=UNREADABLE):
        ask(url)


def test_inference(url: str) -> None:
    """The error of synchronous and asynchronous requests is a sentence too."""
    backend, call = open_backend(Endpoint("grpc", url)), InferCall("m", "", (), ())
    with pytest.raises(UnreadableReply, match="it has no message; expected one"):
        backend.infer(call)
    outcomes: queue.Queue[Outcome] = queue.Queue()
    backend.infer_async(call, outcomes.put)
    outcome = outcomes.get(timeout=20)
    assert type(outcome) is UnreadableReply
    assert "it has no message; expected one" in str(outcome)

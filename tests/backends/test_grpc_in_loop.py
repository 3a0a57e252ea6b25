"""Inference from an event loop over gRPC: outcomes equal those of calls from threads."""

from __future__ import annotations

import asyncio
from typing import Any, Iterator

import pytest

from testbed import TritonServer
from tests.backends.contract_calls import simple
from tests.backends.test_grpc_no_message import url as url_of_server_without_messages
from tritonclient_shim.backends.base import Outcome, StreamingBackend
from tritonclient_shim.backends.grpc import open_backend
from tritonclient_shim.core.errors import ServerError, TransportError, UnreadableReply
from tritonclient_shim.core.model import GRPC, Endpoint, InferCall, InferReply

url = url_of_server_without_messages


@pytest.fixture
def backend(triton: TritonServer) -> Iterator[StreamingBackend]:
    """Yield a backend of the session's server."""
    opened = open_backend(Endpoint(GRPC, triton.grpc))
    yield opened
    opened.close()


def outcome_of(backend: StreamingBackend, call: InferCall) -> Outcome:
    """Return the outcome of a call in its own event loop."""

    async def ask() -> Outcome:
        return await backend.infer_in_loop(call)()

    return asyncio.run(ask())


def test_reply(backend: StreamingBackend) -> None:
    """The outcome is the reply that a thread gets, in each of two event loops."""
    call = simple(request_id="5")
    replies: list[Any] = [outcome_of(backend, call) for _ in range(2)]
    replies.append(backend.infer(call))
    assert all(isinstance(reply, InferReply) for reply in replies)
    outputs = [[(output.name, bytes(output.data)) for output in reply.outputs] for reply in replies]
    assert outputs[0] == outputs[1] == outputs[2]
    assert {reply.request_id for reply in replies} == {"5"}


def test_refusal(backend: StreamingBackend) -> None:
    """A refusal is an outcome; it is not raised."""
    outcome = outcome_of(backend, simple(model_name="no_such_model"))
    assert isinstance(outcome, ServerError)
    assert outcome.code == "NOT_FOUND"


def test_no_server() -> None:
    """A lost connection is the outcome of a thread's call, for each call."""
    dead = open_backend(Endpoint(GRPC, "127.0.0.1:1"))
    with pytest.raises(TransportError) as raised:
        dead.infer(simple())
    for _ in range(2):
        outcome = outcome_of(dead, simple())
        assert isinstance(outcome, TransportError)
        assert outcome.message == raised.value.message


def test_closed(backend: StreamingBackend) -> None:
    """After the backend is closed, a refusal is the outcome of a call."""
    backend.close()
    assert isinstance(outcome_of(backend, simple()), TransportError)


def test_no_message(url: str) -> None:
    """A reply of status OK without a message is an error."""
    outcome = outcome_of(open_backend(Endpoint(GRPC, url)), simple())
    assert isinstance(outcome, UnreadableReply), outcome

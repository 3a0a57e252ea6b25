"""A stream of v1's service that cannot be opened."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import pytest

from tensorrtserver.api import grpc_service_pb2 as pb
from tests.unit.fake_streams import LOST, FakeBackend
from tritonclient_shim.core.errors import InferenceServerException, TransportError
from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.service import InferService
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.stub.streams import OrderedStream


def unopened(requests: Iterator[Any]) -> OrderedStream:
    """Return a stream to a server that refuses to open streams."""
    backend: Any = FakeBackend()
    backend.refuses = LOST
    session = ServerSession(Endpoint(GRPC, "nowhere"), backend=backend)
    stream = OrderedStream(InferService(session))
    stream.start(requests)
    return stream


def test_stream_that_cannot_be_opened() -> None:
    """The stream has ended with the error, takes one request, and can be cancelled."""
    taken: list[int] = []

    def requests() -> Iterator[Any]:
        while True:
            taken.append(1)
            yield pb.InferRequest(model_name="m")

    responses = unopened(requests())
    assert responses.ended
    for _ in range(2):
        with pytest.raises(InferenceServerException, match="Socket closed"):
            responses.take()
    responses.cancel()
    assert responses.wait() == LOST
    assert len(taken) <= 1


def test_no_stream_and_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that is no request ends the unopened stream without an exception on its thread."""
    unseen: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", unseen.append)
    gone = threading.Event()

    def requests() -> Iterator[Any]:
        try:
            raise TransportError("not a message")
            yield
        finally:
            gone.set()

    responses = unopened(requests())
    assert gone.wait(10)
    for thread in threading.enumerate():
        if thread.name == "v1-stream-requests":
            thread.join(10)
    assert (responses.wait(), unseen) == (LOST, [])


def test_no_stream_and_no_requests() -> None:
    """The unopened stream without requests ends with the error alone."""
    responses = unopened(iter(()))
    with pytest.raises(InferenceServerException, match="Socket closed"):
        responses.take()
    assert responses.wait() == LOST

"""A stream of v1's service that cannot be opened."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from tensorrtserver.api import grpc_service_pb2 as pb
from tests.unit.fake_streams import LOST, FakeBackend
from tritonclient_shim.core.errors import InferenceServerException
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
    """The stream has ended with the error, takes no request, and can be cancelled."""
    requests = iter([pb.InferRequest(model_name="m")])
    responses = unopened(requests)
    assert responses.ended
    for _ in range(2):
        with pytest.raises(InferenceServerException, match="Socket closed"):
            responses.take()
    responses.cancel()
    assert responses.wait() == LOST
    assert next(requests)

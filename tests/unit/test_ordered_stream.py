"""A stream of v1's service that cannot even be opened."""

from __future__ import annotations

from typing import Any, Iterator

import pytest

from tensorrtserver.api import grpc_service_pb2 as pb
from tests.unit.fake_streams import LOST, FakeBackend
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import GRPC, Endpoint
from tritonclient_shim.service.infer import InferService
from tritonclient_shim.service.streams import OrderedStream
from tritonclient_shim.session.server import ServerSession


def test_stream_that_cannot_be_opened() -> None:
    """It has ended with the fault, takes no request beyond the first, and can be cancelled."""
    taken: list[int] = []

    def requests() -> Iterator[Any]:
        while True:
            taken.append(1)
            yield pb.InferRequest(model_name="m")

    backend: Any = FakeBackend()
    backend.refuses = LOST
    session = ServerSession(Endpoint(GRPC, "nowhere"), backend=backend)
    responses = OrderedStream(InferService(session), requests())
    assert responses.ended()
    for _ in range(2):
        with pytest.raises(InferenceServerException, match="Socket closed"):
            next(responses)
    responses.cancel()
    assert responses.wait() == LOST
    assert len(taken) <= 1

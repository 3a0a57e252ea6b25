"""A request with a header that has come before is the request that is made without it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tritonclient_shim.core.errors import ServerFault
from tritonclient_shim.core.model import ModelProfile, TensorSpec, V1Request
from tritonclient_shim.protos import api_pb2
from tritonclient_shim.service import layouts
from tritonclient_shim.service.infer import InferService
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.translate import v1_messages

A, S = TensorSpec("A", "INT16", (-1,)), TensorSpec("S", "BYTES", (1,))
PROFILE = ModelProfile("m", 8, {"A": A, "B": replace(A, name="B")}, {"A": A})


def header(**changes: Any) -> Any:
    """A header for two inputs of two and three elements."""
    made = api_pb2.InferRequestHeader(batch_size=2, flags=1, priority=3, **changes)
    made.input.add(name="A", dims=[2])
    made.input.add(name="B", dims=[3])
    made.output.add(name="A")
    return made


class Counted:
    """The requests of one service over HTTP, and how many of them were made the long way."""

    def __init__(self) -> None:
        self._layouts = layouts.Layouts()
        self.made = 0

    def request(self, profile: ModelProfile, head: Any, *pieces: bytes) -> V1Request:
        """The request with a body that comes in pieces."""

        def make() -> V1Request:
            self.made += 1
            return v1_messages.to_request_of_body(profile, -1, head, pieces)

        cut = partial(v1_messages.cut_exactly, pieces)
        return self._layouts.request(profile, -1, head, cut, make)


def told(request: V1Request) -> Any:
    """What is to be equal: the data by their bytes."""
    return request._replace(
        inputs=tuple(one._replace(chunks=(b"".join(one.chunks),)) for one in request.inputs)
    )


def test_the_same_header_again() -> None:
    """It is checked once, and each request has its own data."""
    counted = Counted()
    for number in range(3):
        pieces = bytes([number] * 7), bytes(range(13))
        expected = v1_messages.to_request_of_body(PROFILE, -1, header(), pieces)
        assert told(counted.request(PROFILE, header(), *pieces)) == told(expected)
    assert counted.made == 1


@pytest.mark.parametrize("size", [0, 19, 21])
def test_a_body_of_another_size(size: int) -> None:
    """It is refused in the words of the first check."""
    # docs/v1-behaviour.md §3.4
    counted = Counted()
    counted.request(PROFILE, header(), bytes(20))
    with pytest.raises(ServerFault, match="unexpected (size|additional)"):
        counted.request(PROFILE, header(), bytes(size))


def test_a_reload() -> None:
    """With another configuration the header is checked again."""
    counted = Counted()
    counted.request(PROFILE, header(), bytes(20))
    reloaded = replace(PROFILE, max_batch_size=1)
    with pytest.raises(ServerFault, match="batch-size must be <= 1"):
        counted.request(reloaded, header(), bytes(20))


def test_headers_that_differ_each_time() -> None:
    """Headers with an id or of a sequence, and strings, take the long way each time."""
    counted = Counted()
    strings = ModelProfile("m", 8, {"A": A, "B": replace(S, name="B", dims=(3,))}, {"A": A})
    for changes in ({"id": 1}, {"correlation_id": 1}):
        for _ in range(2):
            counted.request(PROFILE, header(**changes), bytes(20))
    head = header()
    head.input[1].batch_byte_size = 4
    for _ in range(2):
        counted.request(strings, head, bytes(12))
    assert counted.made == 6
    assert counted._layouts._known == {}


def test_memory_stays_bounded() -> None:
    """No more than so many headers are remembered, and none that is long."""
    counted = Counted()
    for number in range(2 * layouts._HEADERS):
        counted.request(PROFILE, header(timeout_microseconds=number), bytes(20))
    known = len(counted._layouts._known)
    assert 0 < known <= layouts._HEADERS
    head = header()
    head.output[0].name = "A" * 5000
    counted.request(replace(PROFILE, outputs={"A" * 5000: A}), head, bytes(20))
    assert len(counted._layouts._known) == known


def test_wire_requests_of_one_header() -> None:
    """Messages are bound to a header that came before, too, and those of other sizes refused."""
    from tritonclient_shim.core.model import Endpoint
    from tritonclient_shim.protos import grpc_service_pb2 as pb

    service = InferService(ServerSession(Endpoint("grpc", "127.0.0.1:1")))
    for number in (1, 2):
        data = [bytes([number] * 8), bytes([number] * 12)]
        request = pb.InferRequest(meta_data=header(), model_version=-1, raw_input=data)
        made = service._request(request, PROFILE)
        assert told(made) == told(v1_messages.to_request(PROFILE, -1, header(), data))
    for bad in ([bytes(20)], [bytes(8), bytes(11)]):
        with pytest.raises(ServerFault, match=r"expected tensor data|unexpected size"):
            service._request(pb.InferRequest(meta_data=header(), raw_input=bad), PROFILE)

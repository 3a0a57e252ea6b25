"""The bare programs of the benchmarks: the server carries out what they send.

A request that is refused would be fast, and worthless as a measure.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Iterator
from unittest.mock import patch

import grpc
import numpy as np
import pytest

from benchmarks import bare, concurrent, regions, workloads
from benchmarks.__main__ import MODELS
from benchmarks.harness import Call, Row
from tensorrtserver.api import InferContext, InferRequestHeader, ProtocolType
from testbed import TritonServer
from tritonclient_shim.backends.grpc.backend import GrpcBackend
from tritonclient_shim.backends.grpc.framing import NO_SHM, decode_reply, decode_stream_reply
from tritonclient_shim.backends.http.backend import HttpBackend
from tritonclient_shim.backends.http.framing import parse_response
from tritonclient_shim.core.model import InferCall, InferReply

ROWS = [row for row in workloads.ROWS if not row.name.endswith("in a row")]
NO_OUTPUTS: frozenset[str] = frozenset()


def decoded(reply: Any, in_shm: frozenset[str] = NO_OUTPUTS) -> InferReply:
    """What a bare program received over either protocol; a refusal cannot be decoded."""
    if isinstance(reply, bytes):
        return decode_reply(reply, in_shm)
    assert reply.status == 200
    return parse_response(reply.body, reply.headers.get("inference-header-content-length"))


@pytest.fixture(scope="module")
def triton() -> Iterator[TritonServer]:
    """A server with every model of the benchmarks; the tests' own has none of the large ones."""
    with TritonServer.start(models=MODELS) as server:
        yield server


def integers(reply: InferReply) -> list[int]:
    """The values of the one output, which is INT32."""
    (output,) = reply.outputs
    values: list[int] = np.frombuffer(output.data or b"", np.int32).tolist()
    return values


def data(reply: InferReply) -> list[bytes]:
    """The bytes of each output."""
    return [bytes(one.data or b"") for one in reply.outputs]


def last_reply(facade: Call, protocol: int) -> InferReply:
    """The last reply that a call of the facade gets."""
    kind: Any = GrpcBackend if protocol == ProtocolType.GRPC else HttpBackend
    infer = kind.infer
    replies: list[InferReply] = []

    def recorded(backend: Any, call: InferCall) -> InferReply:
        replies.append(infer(backend, call))
        return replies[-1]

    with patch.object(kind, "infer", recorded):
        facade()
    return replies[-1]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_request_is_carried_out(row: Row, url: str, protocol: int) -> None:
    """Each row's bare program gets the bytes that the facade gets, in every call."""
    with ExitStack() as closing:
        programs = row.make(url, protocol, closing).programs
        expected = data(last_reply(programs["facade"], protocol))
        assert all(expected)
        for _ in range(2):
            assert data(decoded(programs["bare"]())) == expected


def test_regions_are_used(url: str, protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In shared memory the server reads one region of the facade's and fills the other."""
    monkeypatch.setattr(regions, "COUNT", 1000)
    monkeypatch.setattr(regions, "SIZE", 4000)
    with ExitStack() as closing:
        programs = regions.shared(url, protocol, closing).programs
        values = programs["facade"]()
        filled = np.memmap(f"/dev/shm{regions._key('facade', 'out')}", np.float32, "r+")
        filled[:] = 0
        (output,) = decoded(programs["bare"](), frozenset({"OUTPUT0"})).outputs
        assert (output.name, output.data) == ("OUTPUT0", None)
        assert np.array_equal(filled, values)


def test_requests_in_flight_are_carried_out(
    url: str, protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the requests in flight gets the answer that is its own."""
    monkeypatch.setattr(concurrent, "REQUESTS", 100)
    with ExitStack() as closing:
        call = concurrent.in_flight(url, protocol, closing).programs["bare"]
        for _ in range(2):
            answers = sorted(integers(decoded(reply)) for reply in call())
            assert answers == [[n + 1] * 16 for n in range(100)]


def test_sequences_are_carried_out(triton: TritonServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call streams a whole sequence, which starts anew although its id is the same."""
    monkeypatch.setattr(concurrent, "STEPS", 50)
    with ExitStack() as closing:
        call = concurrent.sequence(triton.grpc, ProtocolType.GRPC, closing).programs["bare"]
        for _ in range(2):
            outcomes = [decode_stream_reply(reply, lambda _: NO_SHM)[1] for reply in call()]
            sums = [integers(one) for one in outcomes if isinstance(one, InferReply)]
            assert sums == [[n + 1] for n in range(50)]


@pytest.mark.parametrize("make", [bare.one, bare.in_flight])
def test_a_refused_request_ends_the_benchmark(make: Any, url: str, protocol: int) -> None:
    """A bare program whose request the server refuses fails, rather than being fast."""
    with ExitStack() as closing:
        ctx = InferContext(url, protocol, "sequence_sum", correlation_id=77)
        closing.callback(ctx.close)

        def step(flags: int = 0) -> None:
            ctx.run(
                {"INPUT": [np.ones(1, np.int32)]},
                {"OUTPUT": InferContext.ResultFormat.RAW},
                1,
                flags,
            )

        step(InferRequestHeader.FLAG_SEQUENCE_START)
        call = make(step, url, protocol, closing)
        step(InferRequestHeader.FLAG_SEQUENCE_END)  # no further step of it is accepted
        with pytest.raises((AssertionError, grpc.RpcError), match="status 400|START flag"):
            call()

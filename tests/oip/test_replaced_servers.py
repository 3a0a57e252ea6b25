"""A server that is restarted as one of another kind, while contexts live on.

Contexts on a server without model configurations share what is known of the server.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType
from testbed import KServeServer, MLServer, TritonServer
from testbed.process import RunningServer
from tests.oip.test_contexts import RAW
from tests.relays import Relay

ROW = np.arange(16, dtype=np.int32)
BOTH = {"INPUT0": [ROW], "INPUT1": [ROW]}
KINDS = ["triton", "mlserver", "kserve"]


class CountingRelay(Relay):
    """A relay that counts the requests over HTTP."""

    requests = 0

    def passed(self, data: bytes) -> bytes:
        """Count the requests that begin in these bytes, and return the bytes."""
        self.requests += data.startswith((b"GET ", b"POST "))
        return super().passed(data)

    def cost(self, model: str = "simple") -> int:
        """Return how many requests a new context needs. It stays open."""
        before = self.requests
        self.contexts.append(InferContext(self.address, ProtocolType.HTTP, model))
        return self.requests - before

    def __enter__(self) -> CountingRelay:
        self.contexts: list[InferContext] = []
        return self

    def __exit__(self, *unused: object) -> None:
        for context in self.contexts:
            context.close()
        super().__exit__(*unused)


@pytest.fixture
def servers(triton: TritonServer, mlserver: MLServer, kserve: KServeServer) -> dict[str, Any]:
    """Return the servers by the names of their kinds."""
    return {"triton": triton, "mlserver": mlserver, "kserve": kserve}


@pytest.fixture
def relay() -> Iterator[Relay]:
    """Yield an address behind which the server changes."""
    with Relay("127.0.0.1:1") as changing:
        yield changing


def after_break(call: Callable[[], Any]) -> Any:
    """Return the result of a call. Over gRPC the first attempt may meet the broken connection."""
    try:
        return call()
    except InferenceServerException as broken:
        if "GRPC client failed" not in str(broken):
            raise
    return call()


def eventually(call: Callable[[], Any]) -> Any:
    """Repeat a call until it succeeds. Knowledge of a server lasts 10 seconds."""
    deadline = time.monotonic() + 15
    while True:
        try:
            return call()
        except InferenceServerException:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def total(context: InferContext, **scalars: int) -> Any:
    """Return the result of a request to ``simple``."""
    return context.run(BOTH, {"OUTPUT0": RAW}, **scalars)["OUTPUT0"][0].tolist()


def test_contexts_cost_one_request(open_server: RunningServer) -> None:
    """The first context asks for the server's metadata, later contexts for their model alone."""
    with CountingRelay(open_server.http) as relay:
        # configuration, metadata of the server and of the model; later only the last
        assert [relay.cost(), relay.cost(), relay.cost("classify")] == [3, 1, 1]


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_requests_go_on(
    relay: Relay, servers: dict[str, Any], protocol: int, before: str, after: str
) -> None:
    """A context's next requests succeed on whatever server listens then."""
    relay.lead_to(servers[before].url(protocol))
    context = InferContext(relay.address, ProtocolType(protocol), "simple")
    assert total(context) == [*range(0, 32, 2)]
    relay.lead_to(servers[after].url(protocol))
    assert after_break(lambda: total(context)) == [*range(0, 32, 2)]
    assert total(context) == [*range(0, 32, 2)]
    context.close()


def test_triton_in_the_place_of_another(
    relay: Relay, open_server: RunningServer, triton: TritonServer, protocol: int
) -> None:
    """When Triton has replaced a server, old and new contexts can do what Triton can, at once."""
    relay.lead_to(open_server.url(protocol))
    address = relay.address, ProtocolType(protocol), "simple"
    before = InferContext(*address)
    total(before)
    relay.lead_to(triton.url(protocol))
    after = after_break(lambda: InferContext(*address, correlation_id=7))
    for context in (after, before):
        assert eventually(partial(total, context, corr_id=7)) == [*range(0, 32, 2)]
        with pytest.raises(InferenceServerException, match="batch-size 9"):
            context.run({"INPUT0": [ROW] * 9, "INPUT1": [ROW] * 9}, {"OUTPUT0": RAW}, batch_size=9)
        context.close()


def test_sequences_end_with_triton(
    relay: Relay, open_server: RunningServer, triton: TritonServer, protocol: int
) -> None:
    """Contexts of a sequence are refused once a server without sequences answers."""
    relay.lead_to(triton.url(protocol))
    address = relay.address, ProtocolType(protocol), "simple"
    context = InferContext(*address, correlation_id=7)
    total(context)
    relay.lead_to(open_server.url(protocol))
    for call in (lambda: total(context), lambda: InferContext(*address, correlation_id=7)):
        with pytest.raises(InferenceServerException, match="extension sequence"):
            after_break(call)
    context.close()


def test_streams_end_with_triton(relay: Relay, servers: dict[str, Any]) -> None:
    """A streaming context raises errors once a server without streams answers, and never hangs."""
    relay.lead_to(servers["triton"].grpc)
    context = InferContext(relay.address, ProtocolType.GRPC, "simple", streaming=True)
    context.run(BOTH, {"OUTPUT0": RAW})
    relay.lead_to(servers["mlserver"].grpc)
    for _ in range(3):
        with pytest.raises(InferenceServerException):
            context.run(BOTH, {"OUTPUT0": RAW})
    context.close()


def test_triton_is_asked_nothing_more(triton: TritonServer) -> None:
    """A context costs Triton one request for the configuration, and its requests themselves."""
    with CountingRelay(triton.http) as relay:
        assert relay.cost() == 1
        context = InferContext(relay.address, ProtocolType.HTTP, "simple")
        before = relay.requests
        for _ in range(2):
            total(context)
        assert relay.requests - before == 2
        context.close()

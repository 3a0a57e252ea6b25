"""A server that is restarted as one of another kind, while contexts live on."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ProtocolType
from testbed import KServeServer, MLServer, TritonServer
from tests.oip.test_contexts import RAW
from tests.relays import Relay

ROW = np.arange(16, dtype=np.int32)
BOTH = {"INPUT0": [ROW], "INPUT1": [ROW]}
KINDS = ["triton", "mlserver", "kserve"]


@pytest.fixture
def servers(triton: TritonServer, mlserver: MLServer, kserve: KServeServer) -> dict[str, Any]:
    """Return the servers by the names of their kinds."""
    return {"triton": triton, "mlserver": mlserver, "kserve": kserve}


@pytest.fixture
def relay(servers: dict[str, Any]) -> Iterator[Relay]:
    """Yield an address behind which the server changes."""
    with Relay("127.0.0.1:1") as changing:
        yield changing


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_requests_go_on(
    relay: Relay, servers: dict[str, Any], protocol: int, before: str, after: str
) -> None:
    """A context's next requests succeed on whatever server listens then."""
    relay.lead_to(servers[before].url(protocol))
    context = InferContext(relay.address, ProtocolType(protocol), "simple")
    assert context.run(BOTH, {"OUTPUT0": RAW})["OUTPUT0"][0].tolist() == [*range(0, 32, 2)]
    relay.lead_to(servers[after].url(protocol))
    for _ in range(3):
        try:
            result = context.run(BOTH, {"OUTPUT0": RAW})["OUTPUT0"]
        except InferenceServerException as broken:  # the connection, of the first request at most
            assert "GRPC client failed" in str(broken)
    assert result[0].tolist() == [*range(0, 32, 2)]
    context.close()


def test_sequences_end_with_triton(relay: Relay, servers: dict[str, Any], protocol: int) -> None:
    """A context of a sequence is refused once a server without sequences answers."""
    relay.lead_to(servers["triton"].url(protocol))
    context = InferContext(relay.address, ProtocolType(protocol), "simple", correlation_id=7)
    context.run(BOTH, {"OUTPUT0": RAW})
    relay.lead_to(servers["mlserver"].url(protocol))
    with pytest.raises(InferenceServerException, match="extension sequence"):
        for _ in range(2):
            try:
                context.run(BOTH, {"OUTPUT0": RAW})
            except InferenceServerException as broken:
                if "GRPC client failed" not in str(broken):
                    raise
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
    with Relay(triton.http) as counted:
        context = InferContext(counted.address, ProtocolType.HTTP, "simple")
        sent = [counted.sent]
        for _ in range(2):
            context.run(BOTH, {"OUTPUT0": RAW})
            sent.append(counted.sent)
        context.close()
    assert sent[2] - sent[1] == sent[1] - sent[0]
    assert sent[0] < 400, "one GET"

"""Keepalive settings on a gRPC connection whose server no longer answers."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from testbed import TritonServer
from tests.infer_cases import BOTH, SUM, add_sub
from tests.relays import Relay
from tritonclient_shim import configure

GIVEN_UP = "[ 0] GRPC client failed: 14: keepalive watchdog timeout"
REFUSED = "[ 0] GRPC client failed: 14: Too many pings"
WITHOUT_CALLS = "grpc.keepalive_permit_without_calls=1, grpc.http2.max_pings_without_data=0"
#: More probes, one each second, than a gRPC server accepts while no data arrive.
LONG = 8.0


@pytest.fixture
def relay(triton: TritonServer) -> Iterator[Relay]:
    """Yield a relay between client and server that can stop forwarding."""
    with Relay(triton.grpc) as silent_relay:
        yield silent_relay


def run_slow(context: InferContext, seconds: float) -> list[Any]:
    """Send a request that takes the server some time."""
    wanted = {"OUTPUT0": InferContext.ResultFormat.RAW}
    results = context.run({"INPUT0": [np.array([seconds], dtype=np.float32)]}, wanted)
    return [float(item) for array in results["OUTPUT0"] for item in array]


def given_up(relay: Relay, context: InferContext) -> None:
    """Check that a call fails on a connection that becomes silent."""
    context.run(add_sub(1), BOTH, 1)
    relay.flows.clear()
    rescue = threading.Timer(20, relay.flows.set)  # the call would then succeed
    rescue.start()
    try:
        with pytest.raises(InferenceServerException) as caught:
            context.run(add_sub(1), BOTH, 1)
    finally:
        rescue.cancel()
        relay.flows.set()
    assert str(caught.value) == GIVEN_UP


def test_a_silent_connection_is_given_up(relay: Relay) -> None:
    """A call on a silent connection fails after both times.

    The next call works once the server is back.
    """
    configure(keepalive_time=1, keepalive_timeout=1)
    with InferContext(relay.address, 1, "simple") as context:
        given_up(relay, context)
        assert context.run(add_sub(1), BOTH, 1)["OUTPUT0"][0].tolist() == SUM


def test_a_stream_on_a_silent_connection_is_given_up(relay: Relay) -> None:
    """A streaming context fails as a call does when its connection becomes silent."""
    configure(keepalive_time=1, keepalive_timeout=1)
    with InferContext(relay.address, 1, "simple", streaming=True) as context:
        given_up(relay, context)


@pytest.mark.release
def test_probes_do_not_disturb_a_long_call(triton: TritonServer) -> None:
    """A server with default settings accepts the probes of a call that waits for a long time."""
    configure(keepalive_time=1, keepalive_timeout=5)
    with InferContext(triton.grpc, 1, "slow") as context:
        assert run_slow(context, LONG) == [LONG]


@pytest.mark.release
def test_probes_without_calls_need_a_server_that_takes_them(
    triton: TritonServer, start_triton: Any
) -> None:
    """Without its options a server refuses the fourth or fifth probe; with them it accepts all."""
    configure(keepalive_time=1, keepalive_timeout=5, grpc_channel_arguments=WITHOUT_CALLS)
    slow = InferContext(triton.grpc, 1, "slow")
    with slow, pytest.raises(InferenceServerException) as caught:
        run_slow(slow, LONG)
    assert str(caught.value) == REFUSED
    willing = start_triton(["slow"], extra_args=["--grpc-http2-max-ping-strikes=0"])
    with InferContext(willing.grpc, 1, "slow") as context:
        assert run_slow(context, LONG) == [LONG]


@pytest.mark.release
def test_an_idle_connection_is_probed_on_demand(relay: Relay) -> None:
    """With its channel arguments gRPC replaces a dead connection before the next call needs it."""
    configure(keepalive_time=1, keepalive_timeout=1, grpc_channel_arguments=WITHOUT_CALLS)
    with InferContext(relay.address, 1, "simple") as context:
        context.run(add_sub(1), BOTH, 1)
        threading.Event().wait(2.5)  # probes were answered meanwhile
        assert relay.connections == 1
        relay.flows.clear()
        threading.Event().wait(8)  # gRPC gives up after 2 seconds, and connects again on demand
        relay.flows.set()
        assert context.run(add_sub(1), BOTH, 1)["OUTPUT0"][0].tolist() == SUM
        assert relay.connections > 1

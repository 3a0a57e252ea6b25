"""Servers that end, connections that break, and what comes after
(docs/v1-behaviour.md §3.1, §5, §E.7).
"""

from __future__ import annotations

import threading
from typing import Any, Iterator

import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.relays import Relay
from tests.server.infer_cases import BOTH, ONE, SUM, Completions, add_sub, fp32, number

LOST = ("HTTP client failed: ", "GRPC client failed: 14: ")


@pytest.fixture
def relay(url: str) -> Iterator[Relay]:
    """Yield a relay to the session's server over the protocol."""
    with Relay(url) as relay:
        yield relay


def lost(error: InferenceServerException, protocol: int) -> None:
    """Check that the error is v1's for a connection lost during a call."""
    assert str(error.message()).startswith(LOST[protocol]), error
    assert (error.server_id(), error.request_id()) == ("", 0)


def shut_in_the_midst(relay: Relay) -> None:
    """Shut the relay while the server works on the next request of the model "slow"."""
    relay.when_sent(b"INPUT0", relay.shut)


@pytest.mark.smoke
def test_lost_during_run(relay: Relay, protocol: int) -> None:
    """Connection lost during a call: a client error, at once; getters are reset."""
    # docs/v1-behaviour.md §3.1
    with InferContext(relay.address, protocol, "slow") as context:
        context.run(fp32(0), ONE)
        shut_in_the_midst(relay)
        with pytest.raises(InferenceServerException) as caught:
            context.run(fp32(1), ONE)
        lost(caught.value, protocol)
        assert context.get_last_request_id() is None


def test_a_failed_connection_says_where_to_look(relay: Relay, protocol: int) -> None:
    """The address and the command for it are noted on the error, whose text stays v1's."""
    # docs/v1-behaviour.md §3.1
    advice = (
        f"({relay.address}; is this Triton's {('HTTP', 'gRPC')[protocol]} port? "
        f"tritonclient-shim doctor --url {relay.address} --protocol {('http', 'grpc')[protocol]})"
    )
    with InferContext(relay.address, protocol, "slow") as context:
        shut_in_the_midst(relay)
        pending = context.async_run(fp32(1), ONE)
        with pytest.raises(InferenceServerException) as later:
            context.get_async_run_results(pending, True)
    with pytest.raises(InferenceServerException) as first:
        InferContext(relay.address, protocol, "slow")
    for error in (first.value, later.value):
        lost(error, protocol)
        assert str(error) == f"[ 0] {error.message()}"
        assert error.debug_details() == advice
        assert getattr(error, "__notes__", [advice]) == [advice]


def test_lost_during_async_run(relay: Relay, protocol: int) -> None:
    """The callback fires, the fetch tells; for requests of the old style as well."""
    # docs/v1-behaviour.md §5
    done = Completions()
    with InferContext(relay.address, protocol, "slow") as context:
        shut_in_the_midst(relay)
        context.async_run(done, fp32(1), ONE)
        old = context.async_run(fp32(1), ONE)
        for request_id in (done.wait()[0], old):
            with pytest.raises(InferenceServerException) as caught:
                context.get_async_run_results(request_id, True)
            lost(caught.value, protocol)


def test_refused_async_run(relay: Relay, protocol: int) -> None:
    """A request that cannot even be sent is told by async_run or by its fetch."""
    # docs/v1-behaviour.md §5
    done = Completions()
    with InferContext(relay.address, protocol, "simple") as context:
        relay.shut()
        with pytest.raises(InferenceServerException) as caught:
            context.async_run(done, add_sub(), BOTH)
            context.get_async_run_results(*done.wait())
        lost(caught.value, protocol)


@pytest.mark.smoke
def test_server_is_back(triton: Any) -> None:
    """HTTP server restart: an old context works at once, without a failing call first."""
    # docs/v1-behaviour.md §E.7
    done = Completions()
    with Relay(triton.http) as relay, InferContext(relay.address, 0, "simple") as context:
        for _ in range(3):
            assert context.run(add_sub(), BOTH)["OUTPUT0"][0].tolist() == SUM
            relay.shut()
            relay.open()
        context.async_run(done, add_sub(), BOTH)
        (request_id,) = done.wait()
        assert len(context.get_async_run_results(request_id)) == 2


def test_server_is_back_after_failures(relay: Relay, protocol: int) -> None:
    """Calls that failed meanwhile do not keep a context from recovering."""
    # docs/v1-behaviour.md §9.2, §E.7
    with InferContext(relay.address, protocol, "simple") as context:
        context.run(add_sub(), BOTH)
        relay.shut()
        for _ in range(2):
            with pytest.raises(InferenceServerException) as caught:
                context.run(add_sub(), BOTH)
            lost(caught.value, protocol)
        relay.open()
        assert eventually(context)["OUTPUT0"][0].tolist() == SUM


def eventually(context: InferContext) -> Any:
    """Return the results of the first run that succeeds; gRPC's back-off takes a second."""
    pause = threading.Event()
    for _ in range(100):
        try:
            return context.run(add_sub(), BOTH)
        except InferenceServerException:
            pause.wait(0.1)
    return context.run(add_sub(), BOTH)


def test_connections_are_kept(relay: Relay, protocol: int) -> None:
    """Runs of one context reuse one connection (docs/v1-behaviour.md §9.1)."""
    with InferContext(relay.address, protocol, "simple") as context:
        for _ in range(10):
            context.run(add_sub(), BOTH)
        assert relay.connections == 1


@pytest.fixture
def broken_stream(triton: Any) -> Iterator[tuple[Relay, InferContext]]:
    """Yield a streaming context that has worked, and the relay to its server."""
    with Relay(triton.grpc) as relay:
        context = InferContext(relay.address, 1, "slow", streaming=True)
        context.run(fp32(0), ONE)
        yield relay, context
        context.close()


def test_stream_breaks_during_run(broken_stream: Any) -> None:
    """v1's run() hung for ever; here it raises (docs/v1-behaviour.md §5)."""
    relay, context = broken_stream
    shut_in_the_midst(relay)
    with pytest.raises(InferenceServerException) as caught:
        context.run(fp32(1), ONE)
    lost(caught.value, 1)


def test_stream_breaks_during_async_run(broken_stream: Any) -> None:
    """Outstanding callbacks never fired in v1; here each fires, the fetch tells."""
    # docs/v1-behaviour.md §5
    relay, context = broken_stream
    done = Completions()
    shut_in_the_midst(relay)
    for _ in range(3):
        context.async_run(done, fp32(1), ONE)
    old = context.async_run(fp32(1), ONE)
    for request_id in [*done.wait(3), old]:
        with pytest.raises(InferenceServerException) as caught:
            context.get_async_run_results(request_id)
        lost(caught.value, 1)


def test_stream_breaks_while_idle(broken_stream: Any) -> None:
    """While the server is gone, each call tells so; the context can be closed."""
    # docs/v1-behaviour.md §5
    relay, context = broken_stream
    relay.shut()
    for _ in range(3):
        with pytest.raises(InferenceServerException) as caught:
            context.run(fp32(0), ONE)
        lost(caught.value, 1)
    assert context.close() is None


def test_killed_server(start_triton: Any) -> None:
    """A server that is killed in the midst of requests of every kind."""
    # docs/v1-behaviour.md §3.1, §5
    server = start_triton(["slow"])
    contexts = [
        InferContext(server.http, 0, "slow"),
        InferContext(server.grpc, 1, "slow"),
        InferContext(server.grpc, 1, "slow", streaming=True),
    ]
    dones = [Completions() for _ in contexts]
    for context, done in zip(contexts, dones):
        context.async_run(done, fp32(30), ONE)
    threading.Timer(0.3, server.kill).start()
    with pytest.raises(InferenceServerException) as caught:
        contexts[1].run(fp32(30), ONE)
    lost(caught.value, 1)
    for context, done, protocol in zip(contexts, dones, (0, 1, 1)):
        with pytest.raises(InferenceServerException) as caught:
            context.get_async_run_results(*done.wait())
        lost(caught.value, protocol)
        context.close()


def test_slow_answer(connect: Any) -> None:
    """No time limit of the client's own ends a request that takes long."""
    # docs/v1-behaviour.md §10.4
    with connect("slow") as context:
        ids = [context.async_run(fp32(seconds), ONE) for seconds in (1.0, 1.1)]
        values = [number(context.get_async_run_results(i, True)) for i in ids]
    assert values == pytest.approx([1.0, 1.1])

"""Servers that end, connections that break, and the calls after that.

(docs/v1-behaviour.md §3.1, §5, §E.7)
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Iterator

import pytest

from tensorrtserver.api import InferContext, InferenceServerException
from tests.infer_cases import (
    BOTH,
    ONE,
    SUM,
    Completions,
    add_sub,
    fp32,
    wait_for,
)
from tests.relays import Relay

LOST = ("HTTP client failed: ", "GRPC client failed: 14: ")


@pytest.fixture
def protocol(way: str) -> int:
    """Return the protocol of the way."""
    return int(way != "HTTP")


@pytest.fixture
def relay(url: str) -> Iterator[Relay]:
    """Yield a relay to the session's server over the protocol."""
    with Relay(url) as relay:
        yield relay


@pytest.fixture
def connect(relay: Relay, way: str, protocol: int) -> Iterator[Any]:
    """Open contexts of the way through the relay; close them at teardown."""
    with contextlib.ExitStack() as opened:

        def connect(model: str) -> InferContext:
            context = InferContext(relay.address, protocol, model, streaming=way == "stream")
            return opened.enter_context(context)

        yield connect


@contextlib.contextmanager
def lost(protocol: int) -> Iterator[Any]:
    """Check that the block raises v1's error for a lost connection."""
    with pytest.raises(InferenceServerException) as caught:
        yield caught
    assert str(caught.value.message()).startswith(LOST[protocol]), caught.value
    assert (caught.value.server_id(), caught.value.request_id()) == ("", 0)


@pytest.mark.smoke
def test_lost_during_run(relay: Relay, connect: Any, protocol: int) -> None:
    """A connection lost during a call is a client error at once, and resets the getters."""
    # docs/v1-behaviour.md §3.1, §5: v1's run() on a stream hung for ever
    context = connect("slow")
    context.run(fp32(0), ONE)
    relay.when_sent(b"INPUT0", relay.shut)
    with lost(protocol):
        context.run(fp32(0), ONE)
    assert context.get_last_request_id() is None


def test_a_failed_connection_says_where_to_look(relay: Relay, connect: Any, protocol: int) -> None:
    """A lost connection's error has v1's text, and a note with the address and a command."""
    # docs/v1-behaviour.md §3.1
    advice = (
        f"({relay.address}; is this Triton's {('HTTP', 'gRPC')[protocol]} port? "
        f"tritonclient-shim doctor --url {relay.address} --protocol {('http', 'grpc')[protocol]})"
    )
    context = connect("slow")
    relay.when_sent(b"INPUT0", relay.shut)
    pending = context.async_run(fp32(0), ONE)
    with lost(protocol) as later:
        context.get_async_run_results(pending, True)
    with lost(protocol) as first:
        connect("slow")
    for error in (first.value, later.value):
        assert str(error) == f"[ 0] {error.message()}"
        assert error.debug_details() == advice
        assert getattr(error, "__notes__", [advice]) == [advice]


def test_lost_during_async_run(relay: Relay, connect: Any, protocol: int) -> None:
    """Each lost request calls its callback, and the fetch raises the error, in either style."""
    # docs/v1-behaviour.md §5: v1's outstanding callbacks never came
    context, done = connect("slow"), Completions()
    context.run(fp32(0), ONE)
    before = relay.sent
    relay.replies.clear()
    for _ in range(3):
        context.async_run(done, fp32(0), ONE)
    old = context.async_run(fp32(0), ONE)
    wait_for(lambda: relay.sent > before)
    relay.shut()
    for request_id in (*done.wait(3), old):
        with lost(protocol):
            context.get_async_run_results(request_id, True)


def test_server_is_back_after_failures(relay: Relay, connect: Any, protocol: int) -> None:
    """Each call fails while the server is away. Then the context works again."""
    # docs/v1-behaviour.md §9.2, §E.7
    context = connect("simple")
    context.run(add_sub(), BOTH)
    relay.shut()
    for _ in range(3):
        with lost(protocol):
            context.run(add_sub(), BOTH)
    relay.open()
    assert eventually(context)["OUTPUT0"][0].tolist() == SUM


def eventually(context: InferContext) -> Any:
    """Return the results of the first run that succeeds; gRPC's back-off takes a second."""
    pause = threading.Event()
    for _ in range(600):
        try:
            return context.run(add_sub(), BOTH)
        except InferenceServerException:
            pause.wait(0.1)
    return context.run(add_sub(), BOTH)


def test_connections_are_kept(relay: Relay, connect: Any) -> None:
    """Runs of one context reuse one connection (docs/v1-behaviour.md §9.1)."""
    context = connect("simple")
    for _ in range(10):
        context.run(add_sub(), BOTH)
    assert relay.connections == 1


@pytest.mark.smoke
def test_server_is_back(triton: Any) -> None:
    """After an HTTP server restarts, an old context works at once, without a failing call."""
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

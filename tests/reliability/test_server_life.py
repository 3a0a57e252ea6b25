"""Servers that are killed, stopped, restarted or lose a model, before and during a call."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Callable, Iterator, NamedTuple

import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext
from tests.reliability.amounts import some
from tests.reliability.identified_calls import STYLES, Outcome, ask, ask_until, numbers, within
from tests.reliability.server_process import MODEL, ServerProcess, some_of

BOUND = 60.0  # seconds that no call may take on a busy machine
PAUSE = 0.3  # seconds that a server is stopped
LIMIT = 1.0  # seconds

LOST = ("HTTP client failed: ", "GRPC client failed: 14: ")
LIMITS = (
    "HTTP client failed: Timeout was reached",
    "GRPC client failed: 4: Deadline Exceeded",
    "GRPC client failed: 14: keepalive watchdog timeout",
)
UNHEALTHY = (f"Stub process '{MODEL}_0_0' is not healthy.",)
UNKNOWN = (f"Request for unknown model: '{MODEL}'",)


class Event(NamedTuple):
    """An event at the server, the allowed beginnings of messages, and its repair.

    Without messages the call must succeed. With an empty message among them it may succeed.
    """

    happen: Callable[[ServerProcess], None]
    messages: tuple[str, ...]
    mend: Callable[[ServerProcess], None]


def restart(server: ServerProcess) -> None:
    """Kill the server and restart it at its ports. No request waits in the model any more."""
    server.kill()
    server.release()
    server.start()


def suspend(server: ServerProcess) -> None:
    """Stop the server for a moment."""
    server.suspend()
    time.sleep(PAUSE)
    server.resume()


def start_stub(server: ServerProcess) -> None:
    """Load the model anew, because Triton restarts a model's process only then."""
    server.unload()
    server.load()


def nothing(server: ServerProcess) -> None:
    """Do nothing: the server needs no mending."""


#: Events between two calls. The second call meets the new state of the server.
IDLE = {
    "killed": Event(ServerProcess.kill, LOST, ServerProcess.start),
    "started again": Event(restart, (*LOST, ""), nothing),
    "stopped for a moment": Event(suspend, (), nothing),
    "stopped": Event(ServerProcess.suspend, LIMITS, ServerProcess.resume),
    "stub killed": Event(ServerProcess.kill_stub, UNHEALTHY, start_stub),
    "model unloaded": Event(ServerProcess.unload, UNKNOWN, ServerProcess.load),
}
#: Events while a request is in the model.
WITHIN = {
    "killed": Event(ServerProcess.kill, LOST, ServerProcess.start),
    "started again": Event(restart, LOST, nothing),
    "stopped for a moment": Event(suspend, (), nothing),
    "stopped": Event(ServerProcess.suspend, LIMITS, ServerProcess.resume),
    "stub killed": Event(ServerProcess.kill_stub, UNHEALTHY, start_stub),
    "model unloaded": Event(ServerProcess.unload, (), ServerProcess.load),
}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Yield threads for calls that wait."""
    with ThreadPoolExecutor(4) as pool:
        yield pool


def limit(kind: str) -> None:
    """Set the time limits that apply to calls of this kind."""
    if kind == "stream":
        names = ("keepalive_time_ms", "keepalive_timeout_ms", "http2.ping_timeout_ms")
        probes = {f"grpc.{name}": round(500 * LIMIT) for name in names}
        tritonclient_shim.configure(grpc_channel_arguments=probes)
    else:
        tritonclient_shim.configure(network_timeout=LIMIT)


def check(outcome: Outcome, event: Event) -> None:
    """Check that the event allows the outcome."""
    assert outcome.seconds < BOUND
    assert len(outcome.callbacks) == outcome.expected_callbacks
    if outcome.error is None:
        assert not event.messages or "" in event.messages
    else:
        documented = tuple(filter(None, event.messages))
        assert documented, outcome.message
        assert outcome.message.startswith(documented)


def is_connected(message: str) -> bool:
    """True if a call with this message met a connection that is open."""
    return not message.startswith((*LOST, *LIMITS))


def works_again(context: InferContext, style: str) -> None:
    """Check that the context works. Over gRPC, wait until it sees that its old connection ended."""
    assert ask_until(context, style, is_connected).message == ""


def held(
    server: ServerProcess, threads: ThreadPoolExecutor, context: InferContext, style: str
) -> Future[Outcome]:
    """Return a call whose request waits in the model."""
    server.hold()
    call = threads.submit(ask, context, style, next(numbers))
    server.wait_for_request()
    return call


@some_of(IDLE)
def test_between_two_calls(number: int, kind: str, name: str, server: ServerProcess) -> None:
    """The next call reports the server's state, and the context works afterwards."""
    event = IDLE[name]
    if event.messages == LIMITS:
        limit(kind)
    for style in some(STYLES, "styles of each event of a server's life", number):
        context = server.opened(kind)
        assert ask(context, style, next(numbers)).message == ""
        event.happen(server)
        check(within(BOUND, partial(ask, context, style, next(numbers))), event)
        event.mend(server)
        works_again(context, style)
        within(BOUND, context.close)


@some_of(WITHIN)
def test_within_a_call(
    number: int,
    kind: str,
    name: str,
    server: ServerProcess,
    threads: ThreadPoolExecutor,
) -> None:
    """The pending call ends, and the context works afterwards."""
    event = WITHIN[name]
    if event.messages == LIMITS:
        limit(kind)
    for style in some(STYLES, "styles of each event of a server's life", number):
        context = server.opened(kind)
        assert ask(context, style, next(numbers)).message == ""
        call = held(server, threads, context, style)
        event.happen(server)
        if not event.messages:
            server.release()
        check(call.result(BOUND), event)
        server.release()
        event.mend(server)
        works_again(context, style)
        within(BOUND, context.close)

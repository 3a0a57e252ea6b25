"""Servers that are killed, stopped, restarted or lose a model, before and during a call."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Callable, NamedTuple

import tritonclient_shim
from tensorrtserver.api import InferContext
from tests.reliability.amounts import some
from tests.reliability.identified_calls import STYLES, Outcome, ask, ask_until, numbers, within
from tests.reliability.server_process import MODEL, ServerProcess, some_of

BOUND = 60.0  # seconds that no call may take on a busy machine
PAUSE = 0.3  # seconds that a server is stopped
LIMIT = 1.0  # seconds
PROBES = 0.5  # seconds between probes of streams, and for their answers

LOST = ("HTTP client failed: ", "GRPC client failed: 14: ")
LIMITS = (
    "HTTP client failed: Timeout was reached",
    "GRPC client failed: 4: Deadline Exceeded",
    "GRPC client failed: 14: keepalive watchdog timeout",
)
UNHEALTHY = (f"Stub process '{MODEL}_0_0' is not healthy.",)
UNKNOWN = (f"Request for unknown model: '{MODEL}'",)


class Event(NamedTuple):
    """An event at the server, its repair, and the beginnings of messages afterwards.

    ``between`` and ``within`` are for an event between two calls, and while a request is in the
    model. Without messages the call must succeed. With an empty message among them it may succeed.
    """

    happen: Callable[[ServerProcess], None]
    mend: Callable[[ServerProcess], None]
    between: tuple[str, ...]
    within: tuple[str, ...]


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


EVENTS = {
    "killed": Event(ServerProcess.kill, ServerProcess.start, LOST, LOST),
    "started again": Event(restart, nothing, (*LOST, ""), LOST),
    "stopped for a moment": Event(suspend, nothing, (), ()),
    "stopped": Event(ServerProcess.suspend, ServerProcess.resume, LIMITS, LIMITS),
    "stub killed": Event(ServerProcess.kill_stub, start_stub, UNHEALTHY, UNHEALTHY),
    "model unloaded": Event(ServerProcess.unload, ServerProcess.load, UNKNOWN, ()),
}


def limit(kind: str) -> None:
    """Set the time limits that apply to calls of this kind."""
    if kind == "stream":
        tritonclient_shim.configure(keepalive_time=PROBES, keepalive_timeout=PROBES)
    else:
        tritonclient_shim.configure(network_timeout=LIMIT)


def check(outcome: Outcome, messages: tuple[str, ...]) -> None:
    """Check that the outcome is a success or begins with one of the messages."""
    assert outcome.seconds < BOUND
    assert len(outcome.callbacks) == outcome.expected_callbacks
    if outcome.error is None:
        assert not messages or "" in messages
    else:
        documented = tuple(filter(None, messages))
        assert documented, outcome.message
        assert outcome.message.startswith(documented)


def is_connected(message: str) -> bool:
    """True if a call with this message met a connection that is open."""
    return not message.startswith((*LOST, *LIMITS))


def works_again(context: InferContext, style: str) -> None:
    """Check that the context works. Over gRPC, wait until it sees that its old connection ended."""
    assert ask_until(context, style, is_connected).message == ""


@some_of(EVENTS)
def test_between_two_calls(number: int, kind: str, name: str, server: ServerProcess) -> None:
    """The next call reports the server's state, and the context works afterwards."""
    event = EVENTS[name]
    if event.between == LIMITS:
        limit(kind)
    for style in some(STYLES, "kinds and styles", number):
        context = server.opened(kind)
        assert ask(context, style, next(numbers)).message == ""
        event.happen(server)
        check(within(BOUND, partial(ask, context, style, next(numbers))), event.between)
        event.mend(server)
        works_again(context, style)
        within(BOUND, context.close)


@some_of(EVENTS)
def test_within_a_call(number: int, kind: str, name: str, server: ServerProcess) -> None:
    """The pending call ends, and the context works afterwards."""
    event = EVENTS[name]
    if event.within == LIMITS:
        limit(kind)
    for style in some(STYLES, "kinds and styles", number):
        context = server.opened(kind)
        assert ask(context, style, next(numbers)).message == ""
        with ThreadPoolExecutor(1) as threads:
            server.hold()
            call = threads.submit(ask, context, style, next(numbers))
            server.wait_for_request()
            event.happen(server)
            if not event.within:
                server.release()
            check(call.result(BOUND), event.within)
        server.release()
        event.mend(server)
        works_again(context, style)
        within(BOUND, context.close)

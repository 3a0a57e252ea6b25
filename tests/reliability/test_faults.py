"""Faults of connections: each fault at each moment, over every protocol, in every style."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Iterator, NamedTuple

import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext
from tests.lost_server import is_alive
from tests.reliability.amounts import some
from tests.reliability.fault_proxy import MOMENTS, FaultProxy
from tests.reliability.identified_calls import (
    KINDS,
    STYLES,
    Outcome,
    ask,
    marker,
    numbers,
    within,
)
from tests.reliability.server_process import ServerProcess

#: The outcome of a call for each fault, moment and kind of context.
#:
#: ``works``  the right answer
#: ``fails``  at once: the connection is lost, or what came on it makes no sense
#: ``limit``  when a time limit of the settings is reached; of streams, when probes go unanswered
#: ``either`` the right answer or a failure: an idle connection that ended shows older versions of
#:            grpcio only at the next call
#: ``.``      not tried. Trickled, cut and changed replies take one way, whenever the fault comes.
#:            HTTP/2 frames of other lengths and of other kinds have tests in ``tests/backends``.
TABLE = """
http            connect body    unanswered answering idle
  trickle       works   .       .          .         .
  black hole    limit   limit   limit      limit     limit
  reset         fails   fails   fails      fails     works
  close         fails   fails   fails      fails     works
  duplicate     .       .       works      .         .
  garbage       .       .       fails      .         works
  too long      .       .       limit      .         .
  too short     .       .       fails      .         .
grpc            connect body    unanswered answering idle
  trickle       works   .       .          .         .
  black hole    limit   limit   limit      limit     limit
  reset         fails   fails   fails      fails     either
  close         fails   fails   fails      fails     either
  garbage       .       .       fails      .         either
stream          connect body    unanswered answering idle
  trickle       works   .       .          .         .
  black hole    limit   limit   limit      limit     limit
  reset         fails   fails   fails      fails     works
  close         fails   fails   fails      fails     works
  garbage       .       .       fails      .         works
"""

LIMIT = 1.0  # seconds for calls, and for connections of streams
PROBES = 0.5  # seconds between probes of streams, and for their answers
BOUND = 30.0  # seconds that no call may take on a busy machine
#: Tries of a cell. A unary gRPC call that is cut can end Triton with signal 11, without this
#: package too (docs/v2-mapping.md §10).
TRIES = 3

#: Messages of lost connections, and of errors about invalid data on an open connection.
LOST = (
    *("HTTP client failed: ", "GRPC client failed: "),
    *("the server's answer could not be read: ", "infer request did not return status"),
)
LIMITS = {
    "http": ("HTTP client failed: Timeout was reached",),
    "grpc": ("GRPC client failed: 4: Deadline Exceeded",),
    "stream": (
        "GRPC client failed: 14: keepalive watchdog timeout",
        "GRPC client failed: 14: Connect Failed",
    ),
}


class Cell(NamedTuple):
    """A cell of the table."""

    kind: str
    fault: str
    moment: str
    expected: str


def cells() -> Iterator[Cell]:
    """Yield the tested cells of the table."""
    kind = ""
    for line in filter(None, TABLE.splitlines()):
        name, *expected = line.strip().rsplit(maxsplit=len(MOMENTS))
        if not line.startswith(" "):
            assert expected == list(MOMENTS), line
            kind = name
            continue
        for moment, outcome in zip(MOMENTS, expected):
            if outcome != ".":
                yield Cell(kind, name, moment, outcome)


@pytest.fixture
def limits() -> Iterator[Any]:
    """Set the time limits of a kind of context; reset them at the end."""
    probes = dict.fromkeys(["keepalive_time", "keepalive_timeout"], PROBES)
    streams = {"connect_timeout": LIMIT, **probes}
    calls = {"network_timeout": LIMIT}

    def set_limits(kind: str) -> None:
        tritonclient_shim.configure(**(streams if kind == "stream" else calls))

    yield set_limits
    tritonclient_shim.configure(**dict.fromkeys([*streams, *calls]))


def messages(cell: Cell) -> tuple[str, ...]:
    """Return the beginnings of the messages after the fault."""
    return LIMITS[cell.kind] if cell.expected == "limit" else LOST


def check(cell: Cell, outcome: Outcome) -> None:
    """Check that the table has the outcome."""
    assert outcome.seconds < BOUND
    if outcome.error is None:
        assert cell.expected in ("works", "either")
        return
    assert cell.expected != "works", outcome.message
    assert outcome.message.startswith(messages(cell))
    assert (outcome.error.server_id(), outcome.error.request_id()) == ("", 0)


def afterwards(context: InferContext, style: str, cell: Cell, struck: Outcome) -> None:
    """Check that the next call works.

    Over gRPC allow a later call if the old connection is just ending.

    The affected call's reply may be quicker than the fault. Then the next call can be sent before
    the client has seen the fault, and the fault ends that call: a request is never sent twice. On a
    busy machine a call can reach these tests' short limits without a fault.
    """
    if cell.expected == "either" and struck.error is None:
        late = ask(context, style, next(numbers))
        assert late.error is None or late.message.startswith(messages(cell))
    passing = LIMITS[cell.kind] if cell.expected == "limit" else ()
    if cell.kind != "http":
        passing += ("GRPC client failed: 14: Socket closed",)
    for _ in range(5):
        outcome = ask(context, style, next(numbers))
        if not passing or not outcome.message.startswith(passing):
            break
    assert outcome.message == ""


def strike(proxy: FaultProxy, context: InferContext, style: str, cell: Cell) -> list[Outcome]:
    """Return a call before the fault, and the affected call."""
    before, number = ask(context, style, next(numbers)), next(numbers)
    assert before.message == ""
    proxy.arm(cell.fault, cell.moment, marker(number))
    if cell.moment in ("connect", "idle"):
        time.sleep(0.05)  # for the client to see the end of its connection
    struck = ask(context, style, number)
    if cell.moment == "connect" and not proxy.struck:  # it still had the old connection
        struck = ask(context, style, number)
    assert proxy.struck > 0, "the fault did not come about"
    check(cell, struck)
    proxy.lift()
    afterwards(context, style, cell, struck)
    return [before, struck]


def one_error(style: str, cell: Cell, server: ServerProcess) -> None:
    """Inject the fault once, between calls that work."""
    protocol, streaming = KINDS[cell.kind]
    with FaultProxy(server.url(protocol)) as proxy:
        context = InferContext(proxy.url, protocol, "identity_int32", streaming=streaming)
        outcomes = within(2 * BOUND, partial(strike, proxy, context, style, cell))
        callbacks = [len(outcome.callbacks) for outcome in outcomes]
        assert callbacks == [outcome.expected_callbacks for outcome in outcomes]
        within(BOUND, context.close)


@pytest.mark.parametrize(
    ("number", "cell"),
    enumerate(cells()),
    ids=[f"{cell.kind}-{cell.fault}-{cell.moment}" for cell in cells()],
)
def test_fault(number: int, cell: Cell, server: ServerProcess, limits: Any) -> None:
    """The call has the outcome of the table, and the next call works."""
    if cell.expected == "limit":
        limits(cell.kind)
    for style in some(STYLES, "kinds and styles", number):
        for attempt in range(TRIES):
            try:
                one_error(style, cell, server)
                break
            except Exception:
                if attempt == TRIES - 1 or is_alive(server.server):
                    raise
                server.kill()
                server.start()

"""Faults of connections: every fault at every moment, over every protocol, in every style."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Iterator

import pytest

import tritonclient_shim
from tensorrtserver.api import InferContext
from testbed import TritonServer
from tests.reliability.amounts import amount, some
from tests.reliability.counts import Tried
from tests.reliability.fault_proxy import IN_HEADERS, FaultProxy
from tests.reliability.fault_table import Cell, cells
from tests.reliability.faults import FAULTS
from tests.reliability.identified_calls import STYLES, Outcome, ask, marker, numbers, within
from tests.reliability.replaced_server import ReplacedServer

PROMISE = (
    "A connection fails at any moment of a call. The call then succeeds, or raises a documented "
    "error within its time limit. Each callback comes once, with its own request's reply. The "
    "context works afterwards"
)
LIMIT = 1.0  # seconds for calls, and for connections of streams
PROBES = 500  # milliseconds between probes of streams, and for their answers
BOUND = 30.0  # seconds that no call may take on a busy machine

LOST = ("HTTP client failed: ", "GRPC client failed: ")
#: Messages of errors about invalid data on an open connection.
SENSELESS = ("the server's answer could not be read: ", "infer request did not return status")
LIMITS = {
    "http": ("HTTP client failed: Timeout was reached",),
    "grpc": ("GRPC client failed: 4: Deadline Exceeded",),
    "stream": (
        "GRPC client failed: 14: keepalive watchdog timeout",
        "GRPC client failed: 14: Connect Failed",
    ),
}


@pytest.fixture(scope="module")
def replaced() -> Iterator[ReplacedServer]:
    """Yield a server of this module, which some of the faults end."""
    with ReplacedServer(["identity_int32"]) as server:
        yield server


@pytest.fixture
def limits() -> Iterator[Any]:
    """Set the time limits of a protocol; reset them at the end."""
    names = ("grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms")
    probes = dict.fromkeys(names, PROBES)
    streams = {"connect_timeout": LIMIT, "grpc_channel_arguments": probes}
    calls = {"network_timeout": LIMIT}

    def set_limits(protocol: str) -> None:
        tritonclient_shim.configure(**(streams if protocol == "stream" else calls))

    yield set_limits
    tritonclient_shim.configure(**dict.fromkeys([*streams, *calls]))


def has_limits(cell: Cell) -> bool:
    """True if the call may wait for bytes that never arrive, and needs a limit.

    A GOAWAY among the first frames of a connection that then stays open can escape grpcio, and the
    call waits for this connection: grpcio 1.85 does so without this package, too.
    """
    early = (cell.protocol, cell.fault, cell.moment) == ("grpc", "GOAWAY", "headers")
    return cell.expected == "limit" or cell.fault == "no window" or early


def messages(cell: Cell) -> tuple[str, ...]:
    """Return the beginnings of the messages after the fault."""
    return {
        "limit": LIMITS[cell.protocol],
        "refused": ("GRPC client failed: 8: too busy",),
    }.get(cell.expected, (*LOST, *SENSELESS))


def check(cell: Cell, outcome: Outcome) -> None:
    """Check that the table has the outcome."""
    assert outcome.seconds < BOUND
    if outcome.error is None:
        assert cell.expected in ("works", "either")
        return
    assert cell.expected not in ("works",), outcome.message
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
    passing = LIMITS[cell.protocol] if has_limits(cell) else ()
    if cell.protocol != "http":
        passing += ("GRPC client failed: 14: Socket closed",)
    for _ in range(5):
        outcome = ask(context, style, next(numbers))
        if not passing or not outcome.message.startswith(passing):
            break
    assert outcome.message == ""


def strike(proxy: FaultProxy, context: InferContext, style: str, cell: Cell) -> list[Outcome]:
    """Return a call before the fault, the affected call, and a further call."""
    before, number = ask(context, style, next(numbers)), next(numbers)
    assert before.message == ""
    between = cell.fault == "garbage" and cell.protocol != "http"  # frames: not within data
    first = 0 if between else IN_HEADERS
    proxy.arm(FAULTS[cell.fault], cell.moment, marker(number), first=first)
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


def one_error(style: str, cell: Cell, server: TritonServer) -> None:
    """Inject the fault once, between calls that work."""
    protocol, streaming = 0 if cell.protocol == "http" else 1, cell.protocol == "stream"
    with FaultProxy(server.url(protocol)) as proxy:
        context = InferContext(proxy.url, protocol, "identity_int32", streaming=streaming)
        outcomes = within(2 * BOUND, partial(strike, proxy, context, style, cell))
        callbacks = [len(outcome.callbacks) for outcome in outcomes]
        assert callbacks == [outcome.expected_callbacks for outcome in outcomes]
        within(BOUND, context.close)


@pytest.mark.parametrize(
    ("number", "cell"),
    enumerate(cells()),
    ids=[f"{cell.protocol}-{cell.fault}-{cell.moment}" for cell in cells()],
)
def test_fault(
    number: int, cell: Cell, replaced: ReplacedServer, limits: Any, tried: Tried
) -> None:
    """The call has the outcome of the table, and the next call works."""
    if has_limits(cell):
        limits(cell.protocol)
    styles = some(STYLES, "styles of each cell of the fault table", number)
    for style in styles * amount("repetitions of each cell of the fault table"):
        replaced.try_on(partial(one_error, style, cell))
        tried(PROMISE, 1, "faults")

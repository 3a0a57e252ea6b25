"""The raw stub with any arguments, and streams of requests with any end."""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Any, Iterator

import grpc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorrtserver.api.grpc_service_pb2_grpc import GRPCServiceStub
from testbed import TritonServer
from tests.backends.odd_answers import changed_message
from tests.gateway.grpc_requests import A, B, simple
from tests.reliability import odd_values as odd
from tests.reliability.amounts import amount
from tests.reliability.counts import Tried
from tests.reliability.fuzzing import documented, fuzzed, no_thread_more, refused
from tests.reliability.identified_calls import within
from tests.reliability.odd_exceptions import EXCEPTIONS
from tests.reliability.odd_requests import REQUESTS
from tritonclient_shim.protos import retired_pb2

STUB = (
    "The raw stub takes any arguments: responses or documented exceptions, and the next call works"
)
PATIENCE = 8.0
UNARY = {
    **{rpc: requests for rpc, requests in REQUESTS.items() if rpc != "StreamInfer"},
    "Profile": [retired_pb2.ProfileRequest(cmd="start"), retired_pb2.ProfileRequest(cmd="x")],
}
LIVE = "/inference.GRPCInferenceService/ServerLive"
DOCUMENTED = documented(GRPCServiceStub)

_metadata = st.lists(
    st.tuples(odd.mostly(st.sampled_from(["a", "b-bin", "A", ""])), odd.mostly(odd.texts)),
    max_size=2,
)
#: Optional arguments of a call, mostly with good values.
OPTIONS = {
    "timeout": st.sampled_from([None, 60, 60.0, 1e-9, 0, -1]),
    "metadata": st.none() | _metadata | _metadata.map(tuple),
    "credentials": st.none(),
    "wait_for_ready": st.sampled_from([None, False]),
    "compression": st.sampled_from([None, *grpc.Compression]),
}


@pytest.fixture
def channel(triton: TritonServer) -> Iterator[grpc.Channel]:
    """Yield a channel of the test. Check afterwards that no new thread is left."""
    before = threading.active_count()
    with grpc.insecure_channel(triton.grpc) as channel:
        yield channel
    assert no_thread_more(before, 4)


def options(draw: Any) -> dict[str, Any]:
    """Draw some of the optional arguments."""
    chosen = draw(st.sets(st.sampled_from(list(OPTIONS)), max_size=2))
    return {name: draw(odd.mostly(OPTIONS[name])) for name in sorted(chosen)}


def requests(rpc: str) -> Any:
    """Draw requests of an rpc: correct, changed, of another rpc, or no request at all."""
    right = st.sampled_from(UNARY[rpc])
    if rpc == "ModelControl":  # any other message that names a model would unload it
        others = right
    else:
        others = st.sampled_from([item for result in UNARY.values() for item in result])
    changed = st.composite(lambda draw: changed_message(draw, draw(right)))()
    return st.one_of(right, changed, changed, others, odd.anything)


def attempt(call: Any, plain: Any = None) -> Any:
    """Return the call's result; None for a documented exception, or the one of gRPC's own call."""
    try:
        return within(PATIENCE, call)
    except Exception as error:
        if not refused(error, DOCUMENTED):
            with pytest.raises(type(error)):
                (plain or call)()
        return None


def check_status(response: Any) -> None:
    """Check that a response has a status, and a text unless it is a success."""
    if response is not None:
        status = response.request_status
        assert status.code == 1 or (status.code and status.msg), status


def well(stub: GRPCServiceStub) -> None:
    """Check that a good request gets its right answer, alone and on a stream."""
    answers = [stub.Infer(simple(7)), *stub.StreamInfer(iter([simple(8)]))]
    for answer in answers:
        np.testing.assert_array_equal(np.frombuffer(answer.raw_output[0], np.int32), A + B)


class Done:
    """Callbacks of a future or a call. Each must run once, whatever it raises."""

    def __init__(self, error: str) -> None:
        self._error = error
        self.came = threading.Semaphore(0)
        self.count = 0

    def __call__(self, *unused: Any) -> None:
        self.count += 1
        self.came.release()
        if self._error:
            raise EXCEPTIONS[self._error]()


def _future(future: Any, error: str, cancels: bool) -> Any:
    done = Done(error), Done("")
    for item in done:
        future.add_done_callback(item)
    if cancels:
        future.cancel()
    for item in done:
        assert item.came.acquire(timeout=PATIENCE), "no callback"
    try:
        return future.result(PATIENCE)
    except grpc.FutureCancelledError:
        assert cancels
        assert future.code() is grpc.StatusCode.CANCELLED
        return None
    finally:
        assert [item.count for item in done] == [1, 1]


_errors = st.sampled_from(["", *EXCEPTIONS])


@fuzzed("calls of a stub", 2)
@given(data=st.data())
def _unary(channel: Any, stub: Any, data: Any) -> None:
    draw = data.draw
    rpc = draw(st.sampled_from(list(UNARY)))
    request, call_options, call = draw(requests(rpc)), options(draw), getattr(stub, rpc)
    style = draw(st.sampled_from(["call", "with_call", "future"]))
    plain = partial(channel.unary_unary(LIVE), b"", **call_options)
    if style == "call":
        check_status(attempt(partial(call, request, **call_options), plain))
    elif style == "with_call":
        result = attempt(partial(call.with_call, request, **call_options), plain)
        if result is not None:
            check_status(result[0])
            assert result[1].code() is grpc.StatusCode.OK
    else:
        argument = attempt(partial(call.future, request, **call_options), plain)
        if argument is not None:
            error, cancels = draw(_errors), draw(st.booleans())
            check_status(attempt(lambda: _future(argument, error, cancels), plain))
    well(stub)


def test_unary(channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch, tried: Tried) -> None:
    """Every unary rpc, in each calling style, returns or raises a documented exception."""
    # docs/v1-behaviour.md §9.2
    monkeypatch.setattr(logging.getLogger("concurrent.futures"), "disabled", True)
    _unary(channel, GRPCServiceStub(channel))
    tried(STUB, amount("calls of a stub") // 2, "unary calls")


def _iterator(items: list[Any], end: str) -> Iterator[Any]:
    yield from items
    if end:
        raise EXCEPTIONS[end]()


@fuzzed("calls of a stub", 2)
@given(data=st.data())
def _stream(channel: Any, stub: Any, data: Any) -> None:
    draw = data.draw
    items = draw(st.lists(odd.mostly(requests("Infer"), st.just(simple(3))), max_size=4))
    call_options, end = options(draw), draw(_errors)
    iterator = draw(st.one_of(st.just(_iterator(items, end)), st.just(items), odd.anything))
    taken = draw(st.integers(0, 5))
    plain = partial(channel.stream_stream(LIVE), iter([]), **call_options)
    result = attempt(partial(stub.StreamInfer, iterator, **call_options), plain)
    if result is not None:
        if draw(st.booleans()):
            attempt(lambda: result.add_callback(Done("")))
        for _ in range(taken):
            answer = attempt(lambda: next(result, None))
            if answer is None:
                break
            check_status(answer)
        if draw(st.booleans()):
            result.cancel()
            assert isinstance(within(PATIENCE, result.code), grpc.StatusCode)
            within(PATIENCE, result.details)
        assert result.done() is not result.is_active()
        del result
    well(stub)


def test_stream(channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch, tried: Tried) -> None:
    """Streams with invalid iterators end with a documented exception."""
    # docs/v1-behaviour.md §9.2
    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)  # of the iterator itself
    _stream(channel, GRPCServiceStub(channel))
    tried(STUB, amount("calls of a stub") // 2, "streams")

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
from tests.reliability.fuzzing import documented, fuzzed, no_thread_more, refused
from tests.reliability.identified_calls import within
from tests.reliability.odd_exceptions import EXCEPTIONS
from tests.reliability.odd_requests import INFER, REQUESTS

PATIENCE = 8.0
UNARY = [rpc for rpc in REQUESTS if rpc != "StreamInfer"]
DOCUMENTED = documented(GRPCServiceStub)
_errors = st.sampled_from(["", *EXCEPTIONS])


@pytest.fixture
def stub(triton: TritonServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[GRPCServiceStub]:
    """Yield a stub on a channel of the test. Check afterwards that no new thread is left."""
    monkeypatch.setattr(logging.getLogger("concurrent.futures"), "disabled", True)
    monkeypatch.setattr(threading, "excepthook", lambda arguments: None)  # of iterators
    before = threading.active_count()
    with grpc.insecure_channel(triton.grpc) as channel:
        yield GRPCServiceStub(channel)
    assert no_thread_more(before, 4)


def requests(rpc: str) -> Any:
    """Draw requests of an rpc: correct, changed, of another rpc, or no request at all."""
    right = st.sampled_from(REQUESTS[rpc])
    changed = st.composite(lambda draw: changed_message(draw, draw(right)))()
    if rpc == "ModelControl":  # any other message that names a model would unload it
        return st.one_of(right, changed, odd.anything)
    return st.one_of(right, changed, st.sampled_from(INFER), odd.anything)


def attempt(call: Any) -> Any:
    """Return the call's result; None for a documented exception."""
    try:
        return within(PATIENCE, call)
    except Exception as error:
        assert refused(error, DOCUMENTED), f"{type(error).__name__}: {error}"
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


def of_future(future: Any, error: str, cancels: bool) -> Any:
    """Return the result of a future. Each of its callbacks must run once, whatever it raises."""
    calls, done = [], threading.Semaphore(0)

    def callback(_future: Any) -> None:
        calls.append(1)
        done.release()
        if error:
            raise EXCEPTIONS[error]()

    for _ in range(2):
        future.add_done_callback(callback)
    if cancels:
        future.cancel()
    for _ in range(2):
        assert done.acquire(timeout=PATIENCE), "no callback"
    try:
        return future.result(PATIENCE)
    except grpc.FutureCancelledError:
        assert cancels
        assert future.code() is grpc.StatusCode.CANCELLED
        return None
    finally:
        assert len(calls) == 2


@fuzzed("calls of a stub")
@given(data=st.data())
def test_unary(stub: GRPCServiceStub, data: Any) -> None:
    """Every unary rpc, in each calling style, returns or raises a documented exception."""
    # docs/v1-behaviour.md §9.2
    draw = data.draw
    rpc = draw(st.sampled_from(UNARY))
    request, method = draw(requests(rpc)), getattr(stub, rpc)
    timeout = draw(st.sampled_from([None, 60, 1e-9]))
    style = draw(st.sampled_from(["call", "with_call", "future"]))
    call = method if style == "call" else getattr(method, style)
    result = attempt(partial(call, request, timeout=timeout))
    if style == "future" and result is not None:
        future, error, cancels = result, draw(_errors), draw(st.booleans())
        result = attempt(lambda: of_future(future, error, cancels))
    check_status(result[0] if style == "with_call" and result else result)
    well(stub)


def _iterator(items: list[Any], end: str) -> Iterator[Any]:
    yield from items
    if end:
        raise EXCEPTIONS[end]()


@fuzzed("calls of a stub")
@given(data=st.data())
def test_stream(stub: GRPCServiceStub, data: Any) -> None:
    """Streams with invalid iterators end with a documented exception."""
    # docs/v1-behaviour.md §9.2
    draw = data.draw
    items = draw(st.lists(odd.mostly(st.sampled_from(INFER), requests("Infer")), max_size=4))
    iterator = draw(odd.mostly(st.just(_iterator(items, draw(_errors)))))
    stream = attempt(partial(stub.StreamInfer, iterator))
    if stream is not None:
        for _ in range(draw(st.integers(0, 5))):
            answer = attempt(lambda: next(stream, None))
            if answer is None:
                break
            check_status(answer)
        if draw(st.booleans()):
            stream.cancel()
            assert isinstance(within(PATIENCE, stream.code), grpc.StatusCode)
        assert stream.done() is not stream.is_active()
        del stream
    well(stub)

"""``Infer.future`` of the raw stub as gRPC's own futures, on a real server."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import grpc
import numpy as np
import pytest

from tests.server.stub_cases import SECONDS, SUCCESS, is_sum, simple_request, slow_request, stub_at

Code = grpc.StatusCode


@pytest.fixture
def stub(triton: Any) -> Iterator[Any]:
    """A stub on a channel of its own, which has not learned anything yet."""
    with stub_at(triton.grpc) as made:
        yield made


def test_futures_are_concurrent_and_read_the_request_at_once(stub: Any) -> None:
    """``.future`` returns at once; the request may be changed right after; callbacks get it."""
    request = slow_request(0.3)
    done: list[int] = []
    called = threading.Semaphore(0)

    def finished(future: Any) -> None:
        done.append(future.result().meta_data.id)
        called.release()

    futures = []
    for number in range(1, 5):
        request.meta_data.id = number
        futures.append(stub.Infer.future(request, 20.0))
        futures[-1].add_done_callback(finished)
    request.raw_input[0] = np.array([9], np.float32).tobytes()
    assert not futures[0].done()
    assert [future.result(SECONDS).meta_data.id for future in futures] == [1, 2, 3, 4]
    assert all(called.acquire(timeout=SECONDS) for _ in range(4))
    assert sorted(done) == [1, 2, 3, 4]
    assert [future.code() for future in futures] == [Code.OK] * 4
    assert (futures[0].exception(), futures[0].traceback(), futures[0].details()) == (
        None,
        None,
        "",
    )


def test_first_future_of_a_channel_does_not_wait(stub: Any) -> None:
    """The model's configuration is fetched behind the future: nobody there is no delay."""
    futures = [stub.Infer.future(simple_request(n)) for n in range(20)]
    assert all(is_sum(future.result(SECONDS), n) for n, future in enumerate(futures))


def test_result_with_a_time_limit(stub: Any) -> None:
    """``result(timeout)`` gives up waiting, not the call."""
    future = stub.Infer.future(slow_request(0.5))
    for ask in (future.result, future.exception, future.traceback):
        with pytest.raises(grpc.FutureTimeoutError):
            ask(timeout=0.01)
    assert (future.running(), future.is_active()) == (True, True)
    assert future.result(SECONDS).request_status.code == SUCCESS
    assert not future.running()


def test_cancelled_future(stub: Any) -> None:
    """``cancel()`` ends a call under way; its result is grpc.FutureCancelledError."""
    assert is_sum(stub.Infer(simple_request(1)), 1)
    future = stub.Infer.future(slow_request(1))
    called = threading.Event()
    future.add_done_callback(lambda _: called.set())
    assert future.cancel()
    assert (future.cancelled(), future.done(), future.code()) == (True, True, Code.CANCELLED)
    for ask in (future.result, future.exception, future.traceback):
        with pytest.raises(grpc.FutureCancelledError):
            ask()
    assert called.wait(SECONDS)
    assert not future.cancel()

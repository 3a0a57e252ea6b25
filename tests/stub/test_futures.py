"""``Infer.future`` of the raw stub as gRPC's own futures, on a real server."""

from __future__ import annotations

import socket
import threading
from typing import Any, Callable

import grpc
import numpy as np
import pytest

from tensorrtserver.api.grpc_service_pb2 import HealthRequest
from tensorrtserver.api.grpc_service_pb2_grpc import GRPCServiceStub
from tests.stub.stub_cases import (
    SECONDS,
    SUCCESS,
    is_sum,
    simple_request,
    slow_request,
)

Code = grpc.StatusCode
LIVE = HealthRequest(mode="live")


def test_futures_are_concurrent_and_read_the_request_at_once(stub: Any) -> None:
    """``.future`` returns at once. The request may change afterwards. Callbacks get the future."""
    request = slow_request(1)
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


def test_result_with_a_time_limit(stub: Any) -> None:
    """``result(timeout)`` stops waiting and does not end the call."""
    future = stub.Infer.future(slow_request(1.5))
    for ask in (future.result, future.exception, future.traceback):
        with pytest.raises(grpc.FutureTimeoutError):
            ask(timeout=0.01)
    assert (future.running(), future.is_active()) == (True, True)
    assert future.result(SECONDS).request_status.code == SUCCESS
    assert not future.running()


def test_cancelled_future(stub: Any) -> None:
    """``cancel()`` ends a pending call; its result raises grpc.FutureCancelledError."""
    assert is_sum(stub.Infer(simple_request(1)), 1)
    future = stub.Infer.future(slow_request(3))
    called = threading.Event()
    future.add_done_callback(lambda _: called.set())
    assert future.cancel()
    assert (future.cancelled(), future.done(), future.code()) == (True, True, Code.CANCELLED)
    for ask in (future.result, future.exception, future.traceback):
        with pytest.raises(grpc.FutureCancelledError):
            ask()
    assert called.wait(SECONDS)
    assert not future.cancel()


def raising(error: type[BaseException]) -> Callable[..., None]:
    """Return a callback that raises."""

    def callback(*_future: Any) -> None:
        raise error

    return callback


@pytest.mark.parametrize("when", ["add_done_callback", "add_callback"])
def test_callback_that_raises(stub: Any, when: str) -> None:
    """After a callback that raises, later callbacks and other calls' replies still arrive."""
    done = threading.Event()
    future = stub.Infer.future(slow_request(1))
    for error in (ValueError, SystemExit, KeyboardInterrupt, GeneratorExit):
        getattr(future, when)(raising(error))
    getattr(future, when)(lambda *_future: done.set())
    assert done.wait(SECONDS)
    assert future.result(SECONDS).request_status.code == SUCCESS
    assert stub.Infer.future(slow_request(0.0)).result(SECONDS).request_status.code == SUCCESS


def test_futures_of_a_silent_server(stub: Any) -> None:
    """Futures without an answer delay no others, and those with a time limit end at it."""
    silent = socket.create_server(("127.0.0.1", 0))
    channel = grpc.insecure_channel(f"127.0.0.1:{silent.getsockname()[1]}")
    with silent, channel:
        silent_stub = GRPCServiceStub(channel)
        unanswered = [silent_stub.Health.future(LIVE, SECONDS) for _ in range(100)]
        assert stub.Health.future(LIVE).result(SECONDS / 2).health
        with pytest.raises(grpc.RpcError) as caught:
            silent_stub.Health.future(LIVE, 0.1).result(SECONDS / 2)
        assert caught.value.code() is Code.DEADLINE_EXCEEDED
        assert not any(future.done() for future in unanswered)
        for future in unanswered:
            assert future.cancel()

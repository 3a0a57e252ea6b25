"""``Infer.future`` of the raw stub as gRPC's own futures, on a real server."""

from __future__ import annotations

import threading
from concurrent import futures
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import grpc
import numpy as np
import pytest

from tensorrtserver.api import grpc_service_pb2_grpc
from tests.server.stub_cases import (
    SECONDS,
    SUCCESS,
    is_sum,
    simple_request,
    slow_request,
)

Code = grpc.StatusCode


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


# ------------------------------------------------ between the configuration and the request


class Intercepted(grpc.UnaryUnaryClientInterceptor):
    """``calls``: what the user's interceptor does for each method."""

    def __init__(self, **calls: Callable[[Callable[[], Any]], Any]) -> None:
        self.calls = calls
        self.names: list[str] = []

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        name = details.method.rpartition("/")[2]
        self.names.append(name)
        go_on = self.calls.get(name, lambda proceed: proceed())
        return go_on(lambda: continuation(details, request))


@contextmanager
def intercepted(url: str, interceptor: Intercepted) -> Iterator[Any]:
    """Yield a stub on a channel of its own, with a user's interceptor."""
    with grpc.insecure_channel(url) as channel:
        watched = grpc.intercept_channel(channel, interceptor)
        yield grpc_service_pb2_grpc.GRPCServiceStub(watched)


def test_cancelled_before_the_request(triton: Any) -> None:
    """A future that is cancelled during the configuration request sends no inference."""
    fetching, cancelled = threading.Event(), threading.Event()

    def hold(proceed: Callable[[], Any]) -> Any:
        fetching.set()
        assert cancelled.wait(SECONDS)
        return proceed()

    interceptor = Intercepted(ModelConfig=hold)
    with intercepted(triton.grpc, interceptor) as stub:
        future = stub.Infer.future(simple_request())
        assert fetching.wait(SECONDS)
        assert future.cancel()
        cancelled.set()
        assert is_sum(stub.Infer(simple_request(1)), 1)
    assert future.cancelled()
    assert interceptor.names.count("ModelInfer") == 1


# ------------------------------------------------------------ channels of the user's own


class Failing:
    """A channel's method that raises when called."""

    def __init__(self, method: Any, error: Exception) -> None:
        self._method = method
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def future(self, *_: Any, **__: Any) -> Any:
        raise self._error

    with_call = future


class UsersChannel:
    """A channel whose method ``fails`` raises ``error`` when a future is requested.

    Its class has no hash.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, channel: Any, fails: str, error: Exception) -> None:
        self._channel = channel
        self._fails = fails
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        result = self._channel.unary_unary(method, *args, **kwargs)
        return Failing(result, self._error) if method.endswith(self._fails) else result


@pytest.mark.parametrize("error", [LookupError("own"), futures.TimeoutError("own")], ids=repr)
def test_error_of_the_users_channel(triton: Any, error: Exception) -> None:
    """An exception of a user's channel in the background becomes the future's exception."""
    with grpc.insecure_channel(triton.grpc) as channel:
        users = UsersChannel(channel, "ModelInfer", error)
        future = grpc_service_pb2_grpc.GRPCServiceStub(users).Infer.future(simple_request())
        with pytest.raises(type(error)) as caught:
            future.result(SECONDS)
    assert caught.value is error
    assert (future.code(), future.details()) == (Code.UNKNOWN, "own")


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

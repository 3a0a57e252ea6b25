"""What the raw stub's calls tell of themselves, as gRPC's own objects do: ``grpc.Call``."""

from __future__ import annotations

import threading
from typing import Any, Iterator

import grpc
import pytest

from tensorrtserver.api import grpc_service_pb2_grpc
from tests.server.stub_cases import SECONDS, is_sum, simple_request, slow_request, stub_at

Code = grpc.StatusCode


@pytest.fixture
def stub(triton: Any) -> Iterator[Any]:
    """A stub on a channel of its own, which has not learned anything yet."""
    with stub_at(triton.grpc) as made:
        yield made


def test_call_behind_a_response(stub: Any) -> None:
    """``with_call`` returns a call that is over: nothing to cancel, no callback to come."""
    response, call = stub.Infer.with_call(simple_request(3))
    assert is_sum(response, 3)
    assert (call.code(), call.details(), call.is_active()) == (Code.OK, "", False)
    assert call.cancel() is False
    assert call.add_callback(pytest.fail) is False


def test_error_of_this_process(stub: Any) -> None:
    """An error that gRPC did not find is a call that is over, as gRPC's own errors are."""
    with pytest.raises(grpc.RpcError) as caught:
        stub.Infer("no request")
    call = caught.value
    assert isinstance(call, grpc.Call)
    assert (call.is_active(), call.time_remaining(), call.cancel()) == (False, None, False)
    assert (call.initial_metadata(), call.trailing_metadata()) == ((), ())
    assert call.add_callback(pytest.fail) is False


def test_callback_of_a_future(stub: Any) -> None:
    """``add_callback`` of a call under way is called at its end; after it, it says False."""
    future = stub.Infer.future(slow_request(0.3))
    called = threading.Event()
    assert future.add_callback(called.set) is True
    assert called.wait(SECONDS)
    assert future.result(SECONDS) is not None
    assert future.add_callback(pytest.fail) is False


def test_stream_under_way(stub: Any) -> None:
    """``next`` is the method that gRPC's object has, and the stream runs until it has ended."""
    more = threading.Event()

    def requests() -> Iterator[Any]:
        yield simple_request(1)
        assert more.wait(SECONDS)

    stream = stub.StreamInfer(requests(), SECONDS)
    assert is_sum(stream.next(), 1)
    assert (stream.running(), stream.done(), stream.cancelled()) == (True, False, False)
    more.set()
    assert list(stream) == []
    assert (stream.running(), stream.done(), stream.code()) == (False, True, Code.OK)


def test_channel_of_a_class_without_hash(triton: Any) -> None:
    """A user's channel class that can be no key of a table is used all the same."""

    class Channel(grpc.Channel):
        def __eq__(self, other: object) -> bool:  # and so without a hash
            return self is other

        def __init__(self, channel: Any) -> None:
            self._channel = channel

        def unary_unary(self, *args: Any, **kwargs: Any) -> Any:
            return self._channel.unary_unary(*args, **kwargs)

        def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
            return self._channel.unary_stream(*args, **kwargs)

        def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
            return self._channel.stream_unary(*args, **kwargs)

        def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
            return self._channel.stream_stream(*args, **kwargs)

        def subscribe(self, *args: Any, **kwargs: Any) -> Any:
            return self._channel.subscribe(*args, **kwargs)

        def unsubscribe(self, callback: Any) -> Any:
            return self._channel.unsubscribe(callback)

        def close(self) -> None:
            self._channel.close()

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

    with Channel(grpc.insecure_channel(triton.grpc)) as channel:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
        for number in range(2):
            assert is_sum(stub.Infer(simple_request(number)), number)

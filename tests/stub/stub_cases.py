"""Requests as raw v1 programs built them, and helpers of the stub's tests."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import grpc
import numpy as np
import pytest

from tensorrtserver.api import grpc_service_pb2 as pb
from tensorrtserver.api import grpc_service_pb2_grpc, request_status_pb2

SUCCESS = request_status_pb2.SUCCESS
FP32_4 = np.array([1, 2, 3, 4], np.float32)
SECONDS = 30  # more than any test needs; a call that hangs fails


@contextmanager
def stub_at(url: str) -> Iterator[Any]:
    """Yield a stub on a channel of its own."""
    with grpc.insecure_channel(url) as channel:
        yield grpc_service_pb2_grpc.GRPCServiceStub(channel)


def error_of(act: Callable[[], Any]) -> Any:
    """Return the RpcError that an action raises."""
    with pytest.raises(grpc.RpcError) as caught:
        act()
    return caught.value


def infer_request(
    model: str, inputs: dict[str, Any], outputs: Any = (), batch: int = 1, number: int = 0
) -> Any:
    """Return an InferRequest; inputs by name as bytes or arrays, dims left to the server."""
    request = pb.InferRequest(model_name=model, model_version=-1)
    request.meta_data.id = number
    request.meta_data.batch_size = batch
    for name, data in inputs.items():
        request.meta_data.input.add(name=name)
        request.raw_input.append(data if isinstance(data, bytes) else data.tobytes())
    for name in outputs:
        request.meta_data.output.add(name=name)
    return request


def simple_request(number: int = 0, batch: int = 1, model: str = "simple") -> Any:
    """Return a request to ``simple``: ``number`` plus 0, 1, …, and 1 everywhere."""
    left = np.arange(16 * batch, dtype=np.int32) + np.int32(number)
    inputs = {"INPUT0": left, "INPUT1": np.ones(16 * batch, np.int32)}
    return infer_request(model, inputs, ("OUTPUT0", "OUTPUT1"), batch, number)


def outputs_of(response: Any) -> list[Any]:
    """Return the outputs of a response that must be a success."""
    assert response.request_status.code == SUCCESS, response.request_status
    return list(response.meta_data.output)


def is_sum(response: Any, number: int, batch: int = 1) -> bool:
    """True if the response answers :func:`simple_request` of that number."""
    summed, less = (np.frombuffer(raw, np.int32) for raw in response.raw_output)
    left = np.arange(16 * batch, dtype=np.int32) + np.int32(number)
    right = response.request_status.code == SUCCESS and response.meta_data.id == number
    return right and np.array_equal(summed, left + 1) and np.array_equal(less, left - 1)


def slow_request(seconds: float, number: int = 0) -> Any:
    """Return a request that takes the server ``seconds``."""
    inputs = {"INPUT0": np.array([seconds], np.float32)}
    return infer_request("slow", inputs, ("OUTPUT0",), 1, number)


def classify_request(*outputs: tuple[str, int], model: str = "classify") -> Any:
    """Return a request for classes of 0.1, 0.9, 0.3 and zeros; a count of 0 asks for raw."""
    scores = np.array([0.1, 0.9, 0.3, 0, 0, 0, 0, 0, 0, 0], np.float32)
    request = infer_request(model, {"INPUT": scores})
    for name, count in outputs:
        output = request.meta_data.output.add(name=name)
        if count:
            output.cls.count = count
    return request


class Recorder(
    grpc.UnaryUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """A user's interceptor that records the name of every call."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        self.names.append(details.method.rpartition("/")[2])
        return continuation(details, request)

    def intercept_stream_stream(self, continuation: Any, details: Any, requests: Any) -> Any:
        self.names.append(details.method.rpartition("/")[2])
        return (response for response in continuation(details, requests))  # no cancel(), no code()


def join_threads() -> list[threading.Thread]:
    """Wait for the stub's threads, and return those that have not ended."""
    ours = ("v1-stream-requests", "grpc-stream", "v1-stub-call")
    result = [thread for thread in threading.enumerate() if thread.name in ours]
    for thread in result:
        thread.join(SECONDS)
    return [thread for thread in result if thread.is_alive()]

"""Messages that a stub accepts as requests: any message, by its bytes.

(docs/v1-behaviour.md §9.2)
"""

from __future__ import annotations

import threading
from typing import Any, Iterator

import grpc
import pytest
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
)

from tensorrtserver.api import model_config_pb2
from tensorrtserver.api import request_status_pb2 as codes
from tests.stub.stub_cases import (
    SECONDS,
    error_of,
    is_sum,
    join_threads,
    simple_request,
    stub_at,
)

Code = grpc.StatusCode
NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def channel(triton: Any) -> Iterator[Any]:
    """Yield a channel to the session's server."""
    with grpc.insecure_channel(triton.grpc) as channel:
        yield channel


def ways(stub: Any, name: str, request: Any) -> dict[str, Any]:
    """Return every way to call an rpc."""
    rpc = getattr(stub, name)
    if name == "StreamInfer":
        return {"stream": lambda: next(rpc(iter([request]), SECONDS))}
    return {
        "call": lambda: rpc(request, SECONDS),
        "with_call": lambda: rpc.with_call(request, SECONDS)[0],
        "future": lambda: rpc.future(request, SECONDS).result(SECONDS),
    }


def classes_of_a_user() -> dict[str, Any]:
    """Return messages of a user's own proto2 file: any bytes, and a required number."""
    file = descriptor_pb2.FileDescriptorProto(name="users_own.proto", package="users.own")
    labels = descriptor_pb2.FieldDescriptorProto
    needy = file.message_type.add(name="Needy")
    needy.field.add(name="n", number=9, type=labels.TYPE_INT32, label=labels.LABEL_REQUIRED)
    bad = file.message_type.add(name="Bad")
    bad.field.add(name="name", number=1, type=labels.TYPE_BYTES, label=labels.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = ("Needy", "Bad")
    result = {name: pool.FindMessageTypeByName(f"users.own.{name}") for name in names}
    if hasattr(message_factory, "GetMessageClass"):
        return {
            name: message_factory.GetMessageClass(descriptor) for name, descriptor in result.items()
        }
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(descriptor) for name, descriptor in result.items()}


USERS = classes_of_a_user()


def test_profile_tells_whether_the_server_is_there(stub: Any) -> None:
    """A server answers ``Profile(ModelConfig())``; without a server it is UNAVAILABLE."""
    status = stub.Profile(model_config_pb2.ModelConfig()).request_status
    assert (status.code, status.msg) == (codes.UNKNOWN, "unknown profile command ''")
    with stub_at(NOWHERE) as nobody, pytest.raises(grpc.RpcError) as caught:
        nobody.Profile(model_config_pb2.ModelConfig())
    assert caught.value.code() is Code.UNAVAILABLE


# --------------------------------------------------------- arguments that are no request


def test_the_reason_is_told(stub: Any) -> None:
    """A request that is no message raises an RpcError. Its cause says why."""
    text = error_of(lambda: stub.Infer(USERS["Needy"]())).__cause__
    assert "missing required fields: n" in str(text)
    error = error_of(lambda: stub.Infer(5))
    expected = "expected InferRequest or another protobuf message, got int: 5"
    assert str(error.__cause__) == expected


def test_answers_before_what_is_no_request(stub: Any, monkeypatch: Any) -> None:
    """A stream ends at an object that is no request.

    It leaves no thread and prints no traceback.
    """
    shown: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: shown.append(args.exc_type))
    answered = threading.Event()

    def requests() -> Iterator[Any]:
        yield simple_request(1)
        answered.wait(SECONDS)
        yield 5

    stream = stub.StreamInfer(requests(), SECONDS)
    assert is_sum(next(stream), 1)
    answered.set()
    error = error_of(lambda: next(stream))
    assert (error.code(), stream.code()) == (Code.INTERNAL, Code.INTERNAL)
    assert stream.details() == "Exception serializing request!"
    assert (join_threads(), shown) == ([], [])


def test_bytes_that_are_no_request(channel: Any, stub: Any) -> None:
    """Bytes that no server can read give the real server's error."""
    bad = USERS["Bad"](name=b"\xff")  # no UTF-8, where the request has text
    method = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    expected = error_of(lambda: method(bad.SerializeToString()))
    for name in ("Status", "Health", "Infer", "StreamInfer"):
        for way, act in ways(stub, name, bad).items():
            error = error_of(act)
            assert (error.code(), error.details()) == (expected.code(), expected.details()), way
    future = stub.Infer.future(bad)  # it has been sent, so the future has the reply
    assert future.exception(SECONDS).details() == "Unable to parse request"

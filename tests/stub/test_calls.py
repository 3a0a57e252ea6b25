"""The raw stub's calls, their objects and their ends, as gRPC's own (docs/v1-behaviour.md §9.2)."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any, Iterator

import grpc
import pytest
from tritonclient.grpc import service_pb2 as v2

from tensorrtserver.api import (
    grpc_service_pb2,
    grpc_service_pb2_grpc,
    request_status_pb2,
)
from tests.backends.answering_servers import SCORES, GrpcAnswers
from tests.own_interpreter import run_program
from tests.stub.stub_cases import (
    SECONDS,
    SUCCESS,
    Recorder,
    error_of,
    infer_request,
    is_sum,
    join_threads,
    simple_request,
    slow_request,
    stub_at,
)

pb: Any = grpc_service_pb2  # Profile is not in its stubs


Code = grpc.StatusCode


NOWHERE = "127.0.0.1:1"


@pytest.mark.smoke
def test_nothing_is_fetched_twice(triton: Any) -> None:
    """Stubs on one channel share a cache: a model's configuration is requested once."""
    recorder = Recorder()
    with grpc.insecure_channel(triton.grpc) as plain:
        channel = grpc.intercept_channel(plain, recorder)
        for number in range(3):
            stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
            assert is_sum(stub.Infer.future(simple_request(number)).result(SECONDS), number)
            assert is_sum(stub.Infer(simple_request(number)), number)
    assert sorted(recorder.names) == ["ModelConfig", *["ModelInfer"] * 6, "ServerMetadata"]


def test_channel_is_not_kept_alive(triton: Any) -> None:
    """The cache of a channel is dropped with the channel."""
    channel = grpc.insecure_channel(triton.grpc)
    stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
    assert is_sum(stub.Infer(simple_request(1)), 1)
    alive = weakref.ref(channel)
    channel.close()
    del channel, stub
    gc.collect()
    assert alive() is None


def test_interceptors_options_and_streams(triton: Any) -> None:
    """Calls and streams use the channel's credentials, options and interceptors."""
    recorder = Recorder()
    options = [("grpc.max_receive_message_length", 2000)]
    local = grpc.local_channel_credentials(grpc.LocalConnectionType.LOCAL_TCP)
    with grpc.secure_channel(triton.grpc, local, options=options) as plain:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.intercept_channel(plain, recorder))
        assert stub.Infer.with_call(simple_request(1))[1].code() is Code.OK
        answers = stub.StreamInfer(iter([simple_request(n) for n in range(3)]), SECONDS)
        assert [is_sum(answer, n) for n, answer in enumerate(answers)] == [True] * 3
        large = infer_request("identity_uint8", {"INPUT0": bytes(3000)}, ["OUTPUT0"])
        large.meta_data.input[0].dims.append(3000)
        too_large = error_of(lambda: stub.Infer(large))
    assert too_large.code() is Code.RESOURCE_EXHAUSTED
    assert "ModelStreamInfer" in recorder.names


@pytest.mark.parametrize("way", ["call", "with_call", "future", "stream"])
def test_timeout_is_for_the_whole_call(stub: Any, way: str) -> None:
    """A positional timeout ends the call and its configuration request with DEADLINE_EXCEEDED."""
    act = {
        "call": lambda: stub.Infer(slow_request(1.5), 0.4),
        "with_call": lambda: stub.Infer.with_call(slow_request(1.5), 0.4),
        "future": lambda: stub.Infer.future(slow_request(1.5), 0.4).result(),
        "stream": lambda: next(stub.StreamInfer(iter([slow_request(1.5)]), 0.4)),
    }[way]
    started = time.monotonic()
    assert error_of(act).code() is Code.DEADLINE_EXCEEDED
    assert time.monotonic() - started > 0.3


def test_nobody_there() -> None:
    """Without a server every style of call raises gRPC's own UNAVAILABLE."""
    with stub_at(NOWHERE) as stub:
        error = error_of(lambda: stub.Infer(simple_request()))
        assert (error.code(), error.__cause__) == (Code.UNAVAILABLE, None)
        assert "failed to connect" in error.details()
        assert error_of(lambda: stub.Status(pb.StatusRequest())).code() is Code.UNAVAILABLE
        future = stub.Infer.future(simple_request())
        assert future.exception(SECONDS).code() is future.code() is Code.UNAVAILABLE
        assert "failed to connect" in future.details()
        stream = stub.StreamInfer(iter([simple_request()]))
        assert error_of(lambda: next(stream)).code() is stream.code() is Code.UNAVAILABLE


def test_server_killed_under_a_call(start_triton: Any) -> None:
    """A server that dies ends pending calls with UNAVAILABLE."""
    server = start_triton(models=["slow"])
    with stub_at(server.grpc) as stub:
        assert stub.Infer(slow_request(0)).request_status.code == SUCCESS
        future = stub.Infer.future(slow_request(60))
        arrived = threading.Event()

        def requests() -> Iterator[Any]:
            yield slow_request(0)
            arrived.wait(SECONDS)  # the user's generator may block for ever

        stream = stub.StreamInfer(requests())
        assert next(stream).request_status.code == SUCCESS
        server.kill()
        assert future.exception(SECONDS).code() is Code.UNAVAILABLE
        assert error_of(lambda: next(stream)).code() is Code.UNAVAILABLE
        arrived.set()
    assert not join_threads()


def test_closed_channel(triton: Any) -> None:
    """A closed channel raises gRPC's own ValueError."""
    channel = grpc.insecure_channel(triton.grpc)
    stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
    channel.close()
    with pytest.raises(ValueError, match="Cannot invoke RPC"):
        stub.Infer(simple_request())


def test_metadata_and_compression(start_triton: Any) -> None:
    """The user's metadata and compression go with every call to the server."""
    secret = "--grpc-restricted-protocol=inference,model-config:secret=yes"
    server = start_triton(models=["simple"], extra_args=[secret])
    arguments = {
        "metadata": (("triton-grpc-protocol-secret", "yes"),),
        "compression": grpc.Compression.Gzip,
    }
    with stub_at(server.grpc) as stub:
        status = stub.Infer(simple_request()).request_status
        assert status.code == request_status_pb2.UNAVAILABLE
        assert "restricted" in status.msg
        assert is_sum(stub.Infer(simple_request(1), 10, **arguments), 1)
        assert is_sum(stub.Infer.future(simple_request(2), **arguments).result(SECONDS), 2)
        answers = list(stub.StreamInfer(iter([simple_request(3)]), **arguments))
        assert is_sum(answers[0], 3)


@pytest.mark.parametrize("rpc", ["Status", "Health", "Repository", "Profile"])
def test_futures_of_the_other_rpcs(stub: Any, rpc: str) -> None:
    """Every unary rpc has ``future`` and ``with_call``."""
    request = {
        "Status": pb.StatusRequest(model_name="simple"),
        "Health": pb.HealthRequest(mode="live"),
        "Repository": pb.RepositoryRequest(index=True),
        "Profile": pb.ProfileRequest(cmd="stop"),
    }[rpc]
    method = getattr(stub, rpc)
    assert method.future(request, SECONDS).result(SECONDS).request_status.code == SUCCESS
    response, call = method.with_call(request, timeout=SECONDS)
    assert response.request_status.code == SUCCESS
    assert (call.code(), call.details(), call.is_active()) == (Code.OK, "", False)
    assert (call.cancel(), call.add_callback(pytest.fail)) == (False, False)
    assert 0 < call.time_remaining() <= SECONDS


def test_stream_under_way(stub: Any) -> None:
    """A stream has gRPC's ``next`` and states, and calls its callback when it ends."""
    more, called = threading.Event(), threading.Event()

    def requests() -> Iterator[Any]:
        yield simple_request(1)
        assert more.wait(SECONDS)

    stream = stub.StreamInfer(requests())
    assert stream.add_callback(called.set)
    assert stream.time_remaining() is None
    assert is_sum(stream.next(), 1)
    assert (stream.running(), stream.done(), stream.cancelled()) == (True, False, False)
    more.set()
    assert list(stream) == []
    assert (stream.running(), stream.done(), stream.code()) == (False, True, Code.OK)
    assert called.wait(SECONDS)
    assert not stream.add_callback(pytest.fail)


SCRIPT = """
import queue, sys
import grpc
from tests.stub.stub_cases import simple_request
from tensorrtserver.api import grpc_service_pb2_grpc

requests = queue.Queue()
stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.insecure_channel(sys.argv[1]))
responses = stub.StreamInfer(iter(requests.get, None))
requests.put(simple_request(1))
print(next(responses).meta_data.id)
"""


def test_an_open_stream_does_not_keep_the_interpreter(triton: Any) -> None:
    """A stream whose iterator blocks does not keep the interpreter from ending."""
    assert run_program(SCRIPT, triton.grpc) == (0, "1\n", "")


@pytest.mark.parametrize("way", ["call", "future", "stream"])
def test_answer_that_v1_cannot_hold(way: str) -> None:
    """A result in shared memory that is too large for v1's message is an RpcError."""
    request = infer_request("m", {"IN": SCORES})
    where = request.meta_data.output.add(name="OUT").shared_memory
    where.name, where.byte_size = "r", 8
    answer = v2.ModelInferResponse(model_name="m", raw_output_contents=[b""])
    answer.outputs.add(name="OUT", datatype="FP32", shape=[2**62, 2])
    with GrpcAnswers() as server, stub_at(server.address) as stub:
        server.replaced["infer"] = answer.SerializeToString()
        streamed = v2.ModelStreamInferResponse(infer_response=answer)
        server.replaced["stream"] = streamed.SerializeToString()
        with pytest.raises(grpc.RpcError, match="Exception deserializing .*out of range") as caught:
            {
                "call": lambda: stub.Infer(request, SECONDS),
                "future": lambda: stub.Infer.future(request, SECONDS).result(),
                "stream": lambda: next(stub.StreamInfer(iter([request]), SECONDS)),
            }[way]()
        assert caught.value.code() is Code.INTERNAL

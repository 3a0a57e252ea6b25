"""The stub's calls as gRPC's own: time limits, metadata, futures, errors, the user's channel."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any, Callable, Iterator

import grpc
import pytest

from tensorrtserver.api import (
    InferContext,
    grpc_service_pb2,
    grpc_service_pb2_grpc,
    request_status_pb2,
)
from tests.server.stub_cases import (
    SECONDS,
    SUCCESS,
    Recorder,
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


@pytest.fixture
def stub(triton: Any) -> Iterator[Any]:
    """A stub on a channel of its own, which has not learned anything yet."""
    with stub_at(triton.grpc) as made:
        yield made


def error_of(act: Callable[[], Any]) -> Any:
    """The RpcError that an act raises."""
    with pytest.raises(grpc.RpcError) as caught:
        act()
    return caught.value


# ----------------------------------------------------------------------- the user's channel


def test_settings_do_not_reach_it(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that cannot be used, and that a context refuses, is none of the channel's."""
    monkeypatch.setenv("TRITON_SHIM_TLS", "perhaps")
    with pytest.raises(ValueError, match="perhaps"):
        InferContext(NOWHERE, 1, "simple")
    assert is_sum(stub.Infer(simple_request(1)), 1)
    assert stub.Health(pb.HealthRequest(mode="live")).health


def test_nothing_is_fetched_twice(triton: Any) -> None:
    """Stubs on one channel share what they know: a model is described once, then only inferred."""
    recorder = Recorder()
    with grpc.insecure_channel(triton.grpc) as plain:
        channel = grpc.intercept_channel(plain, recorder)
        for number in range(3):
            stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
            assert is_sum(stub.Infer(simple_request(number)), number)
            assert is_sum(stub.Infer.future(simple_request(number)).result(SECONDS), number)
    assert sorted(recorder.names) == ["ModelConfig", *["ModelInfer"] * 6, "ServerMetadata"]


def test_a_future_that_comes_first(triton: Any) -> None:
    """It asks for the model's configuration once, and sends the request with what it was told."""
    recorder = Recorder()
    with grpc.insecure_channel(triton.grpc) as plain:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.intercept_channel(plain, recorder))
        assert is_sum(stub.Infer.future(simple_request(1)).result(SECONDS), 1)
    assert recorder.names == ["ModelConfig", "ModelInfer", "ServerMetadata"]


def test_channel_is_not_kept_alive(triton: Any) -> None:
    """What is known of a channel goes with it."""
    channel = grpc.insecure_channel(triton.grpc)
    stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
    assert is_sum(stub.Infer(simple_request(1)), 1)
    alive = weakref.ref(channel)
    channel.close()
    del channel, stub
    gc.collect()
    assert alive() is None


def test_interceptors_options_and_streams(triton: Any) -> None:
    """Every call goes through the user's interceptors, also one that hides gRPC's object."""
    recorder = Recorder()
    options = [("grpc.max_receive_message_length", 2000)]
    with grpc.insecure_channel(triton.grpc, options=options) as plain:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(grpc.intercept_channel(plain, recorder))
        assert stub.Infer.with_call(simple_request(1))[1].code() is Code.OK
        answers = stub.StreamInfer(iter([simple_request(n) for n in range(3)]), SECONDS)
        assert [is_sum(answer, n) for n, answer in enumerate(answers)] == [True] * 3
        large = infer_request("identity_uint8", {"INPUT0": bytes(3000)}, ["OUTPUT0"])
        large.meta_data.input[0].dims.append(3000)
        too_large = error_of(lambda: stub.Infer(large))
    assert too_large.code() is Code.RESOURCE_EXHAUSTED
    assert "ModelStreamInfer" in recorder.names


def test_secure_channel(triton: Any) -> None:
    """A channel with credentials is used like any other."""
    local = grpc.local_channel_credentials(grpc.LocalConnectionType.LOCAL_TCP)
    with grpc.secure_channel(triton.grpc, local) as channel:
        stub = grpc_service_pb2_grpc.GRPCServiceStub(channel)
        assert is_sum(stub.Infer(simple_request(6), SECONDS), 6)


def test_default_receive_limit_stays(stub: Any) -> None:
    """A channel without options receives 4 MiB, as it did for v1's raw scripts."""
    request = infer_request("identity_fp32", {"INPUT0": bytes(5 << 20)}, ["OUTPUT0"])
    request.meta_data.input[0].dims.append(5 << 18)
    assert error_of(lambda: stub.Infer(request)).code() is Code.RESOURCE_EXHAUSTED


# --------------------------------------------------------------------- time limits and errors


@pytest.mark.parametrize("way", ["call", "with_call", "future", "stream"])
def test_timeout_is_for_the_whole_call(stub: Any, way: str) -> None:
    """A positional timeout in seconds ends the call with DEADLINE_EXCEEDED, the lookup included."""
    act = {
        "call": lambda: stub.Infer(slow_request(1.5), 0.4),
        "with_call": lambda: stub.Infer.with_call(slow_request(1.5), 0.4),
        "future": lambda: stub.Infer.future(slow_request(1.5), 0.4).result(),
        "stream": lambda: next(stub.StreamInfer(iter([slow_request(1.5)]), 0.4)),
    }[way]
    started = time.monotonic()
    assert error_of(act).code() is Code.DEADLINE_EXCEEDED
    assert 0.3 < time.monotonic() - started < 5


@pytest.mark.parametrize("rpc", ["Status", "Health", "Repository", "Infer"])
def test_no_time_left(stub: Any, rpc: str) -> None:
    """Every rpc has a time limit, and a limit in the past is over at once."""
    request = {
        "Status": pb.StatusRequest(),
        "Health": pb.HealthRequest(mode="live"),
        "Repository": pb.RepositoryRequest(index=True),
        "Infer": simple_request(),
    }[rpc]
    assert error_of(lambda: getattr(stub, rpc)(request, -1)).code() is Code.DEADLINE_EXCEEDED
    failed = getattr(stub, rpc).future(request, timeout=-1).exception(SECONDS)
    assert failed.code() is Code.DEADLINE_EXCEEDED


def test_nobody_there() -> None:
    """No server: gRPC's own UNAVAILABLE, raised as it is, by every way to call."""
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


def test_wait_for_ready() -> None:
    """``wait_for_ready`` makes a call wait for a server, until its time is over."""
    with stub_at(NOWHERE) as stub:
        error = error_of(lambda: stub.Infer(simple_request(), 0.3, wait_for_ready=True))
    assert error.code() is Code.DEADLINE_EXCEEDED


def test_server_killed_under_a_call(start_triton: Any) -> None:
    """A server that dies ends what is under way with UNAVAILABLE."""
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
    for act in (stub.Infer, stub.Infer.future):
        with pytest.raises(ValueError, match="Cannot invoke RPC"):
            act(simple_request())


def test_metadata_and_compression(start_triton: Any) -> None:
    """The user's metadata goes with every call to the server; compression is passed on."""
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


# ---------------------------------------------------------------------------- with_call, reload


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
    assert 0 < call.time_remaining() <= SECONDS


def test_with_call_of_a_refusal(stub: Any) -> None:
    """A refused request is an OK call: the refusal is in the response."""
    response, call = stub.Infer.with_call(simple_request(model="nope"))
    assert response.request_status.code == request_status_pb2.UNAVAILABLE
    assert call.code() is Code.OK
    assert list(call.trailing_metadata()) == list(call.initial_metadata()) == []


def test_model_reloaded_with_another_configuration(start_triton: Any, tmp_path: Any) -> None:
    """A stub follows a model whose configuration changes: its requests are not refused for it."""
    from testbed import repository

    repository.write(tmp_path, ["simple"])
    config = tmp_path / "simple" / "config.pbtxt"
    config.write_text(config.read_text().replace("max_batch_size: 8", "max_batch_size: 2"))
    server = start_triton(models=["simple"], repository=tmp_path)
    with stub_at(server.grpc) as stub:
        assert "must be <= 2" in stub.Infer(simple_request(1, batch=4)).request_status.msg
        config.write_text(config.read_text().replace("max_batch_size: 2", "max_batch_size: 4"))
        load = pb.ModelControlRequest(model_name="simple", type=pb.ModelControlRequest.LOAD)
        assert stub.ModelControl(load, SECONDS).request_status.code == SUCCESS
        assert is_sum(stub.Infer(simple_request(1, batch=4)), 1, batch=4)
        assert is_sum(stub.Infer.future(simple_request(2, batch=4)).result(SECONDS), 2, batch=4)

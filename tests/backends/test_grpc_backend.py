"""The gRPC backend on a real server: what the shared contract suite does not ask."""

from __future__ import annotations

import os
import socket
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any, Iterator

import grpc
import numpy as np
import pytest
from tritonclient.grpc import model_config_pb2

from testbed import TritonServer
from tests.backends.contract_calls import bytes_of
from tritonclient_shim.backends.base import StreamingBackend
from tritonclient_shim.backends.grpc import open_backend
from tritonclient_shim.core.errors import ServerFault, TransportFault
from tritonclient_shim.core.model import GRPC, Endpoint, InferCall, InferReply, OutputSpec, TensorIn

ROW = np.arange(16, dtype=np.int32)


def simple_call(request_id: str = "", **more: Any) -> InferCall:
    """A call of ``simple``; the sum is OUTPUT0."""
    tensors = tuple(TensorIn(f"INPUT{i}", "INT32", (1, 16), (ROW,), 64) for i in (0, 1))
    return InferCall("simple", "", tensors, (OutputSpec("OUTPUT0"),), request_id, **more)


def slow_call(seconds: float, request_id: str = "") -> InferCall:
    """A call that the model answers after ``seconds``."""
    data = np.array([seconds], dtype=np.float32)
    tensors = (TensorIn("INPUT0", "FP32", (1,), (data,), 4),)
    return InferCall("slow", "", tensors, (OutputSpec("OUTPUT0"),), request_id)


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture
def backend(triton: TritonServer) -> Iterator[StreamingBackend]:
    """A backend of the session's server."""
    opened = open_backend(Endpoint(GRPC, triton.grpc))
    yield opened
    opened.close()


def test_opening_contacts_nobody() -> None:
    """Constructing costs no network, whatever the address; v1's contexts did the same."""
    # docs/v1-behaviour.md §6
    for address in ("", "localhost", "nobody.invalid:1"):
        assert open_backend(Endpoint(GRPC, address)).endpoint.address == address


def test_closing_one_leaves_the_others(backend: StreamingBackend, triton: TritonServer) -> None:
    """A backend's close disturbs neither calls nor streams of another on the same endpoint."""
    other = open_backend(Endpoint(GRPC, triton.grpc))
    outcomes: Queue[Any] = Queue()
    backend.infer_async(slow_call(0.3), outcomes.put)
    stream = backend.open_stream(lambda _, outcome: outcomes.put(outcome), lambda _: None)
    stream.send(slow_call(0.3))
    other.close()
    other.close()
    stream.close()
    assert isinstance(outcomes.get(timeout=10), InferReply)
    assert isinstance(outcomes.get(timeout=10), InferReply)


@pytest.mark.parametrize("reply_size", [4, 2**20])
def test_buffers_of_any_kind(backend: StreamingBackend, reply_size: int) -> None:
    """Inputs may be bytes, arrays and views, in several chunks; replies of any size return."""
    data = np.arange(reply_size, dtype=np.float32)
    half = reply_size // 2
    chunks = (data[: half // 2].tobytes(), data[half // 2 : half], data[half:].data)
    tensor = TensorIn("INPUT0", "FP32", (1, reply_size), chunks, data.nbytes)
    reply = backend.infer(InferCall("identity_fp32", "", (tensor,), (OutputSpec("OUTPUT0"),)))
    np.testing.assert_array_equal(np.frombuffer(bytes_of(reply.outputs[0]), np.float32), data)


def test_arrays_may_change_after_an_async_call(backend: StreamingBackend) -> None:
    """The request is complete when infer_async returns (v1's gRPC serialised at once)."""
    # docs/v1-behaviour.md §5
    data = np.array([0.3], dtype=np.float32)
    tensors = (TensorIn("INPUT0", "FP32", (1,), (data,), 4),)
    outcomes: Queue[Any] = Queue()
    backend.infer_async(InferCall("slow", "", tensors, (OutputSpec("OUTPUT0"),)), outcomes.put)
    data[0] = 9.0
    reply = outcomes.get(timeout=10)
    assert np.frombuffer(bytes_of(reply.outputs[0]), np.float32)[0] == np.float32(0.3)


def test_async_outcomes_come_once(backend: StreamingBackend) -> None:
    """done runs once per call, even when the answer is quick."""
    seen: Queue[Any] = Queue()
    for number in range(200):
        backend.infer_async(simple_call(str(number)), seen.put)
    outcomes = [seen.get(timeout=30) for _ in range(200)]
    assert {one.request_id for one in outcomes} == {str(number) for number in range(200)}
    assert backend.infer(simple_call())  # anything superfluous has arrived by now
    assert seen.empty()


def test_async_refusals_are_handed_over(backend: StreamingBackend) -> None:
    """A refused asynchronous call reaches done as a fault, chained to gRPC's error."""
    outcomes: Queue[Any] = Queue()
    backend.infer_async(InferCall("nobody", "", (), ()), outcomes.put)
    fault = outcomes.get(timeout=10)
    assert isinstance(fault, ServerFault)
    assert fault.message == "Request for unknown model: 'nobody' is not found"
    assert isinstance(fault.__cause__, grpc.RpcError)


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1:1"])
def test_async_calls_that_cannot_be_sent(address: str) -> None:
    """What prevents sending reaches done as well, once."""
    seen: Queue[Any] = Queue()
    backend = open_backend(Endpoint(GRPC, address))
    backend.infer_async(simple_call(), seen.put)
    assert isinstance(seen.get(timeout=10), TransportFault)
    assert seen.empty()


def test_calls_from_many_threads(backend: StreamingBackend) -> None:
    """One backend serves many threads at once, each with its own answer."""

    def one(number: int) -> bool:
        return backend.infer(simple_call(str(number))).request_id == str(number)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(200)))


def test_async_calls_run_side_by_side(backend: StreamingBackend) -> None:
    """A quick request is answered while slow ones run."""
    order: Queue[Any] = Queue()
    backend.infer_async(slow_call(0.8, "slow"), order.put)
    backend.infer_async(slow_call(0.0, "quick"), order.put)
    assert [order.get(timeout=10).request_id for _ in range(2)] == ["quick", "slow"]


def test_configuration_is_the_wire_form(backend: StreamingBackend) -> None:
    """model_config delivers the bytes of inference.ModelConfig, which v1's message can read."""
    document = backend.model_config("simple")
    assert isinstance(document.content, bytes)
    config = model_config_pb2.ModelConfig.FromString(document.content)
    assert (config.name, config.max_batch_size) == ("simple", 8)
    assert (document.backend, document.decoupled) == ("python", False)


def test_many_configurations_at_once(backend: StreamingBackend) -> None:
    """model_configs keeps the order of its argument, beyond one window too, and skips refusals."""
    names = ["simple", "nobody", "slow"] * 40 + ["spare"]
    found = backend.model_configs(names)
    assert list(found) == ["simple", "slow"]
    assert found["slow"] == backend.model_config("slow")


def test_a_bad_cuda_handle_is_the_servers_refusal(backend: StreamingBackend) -> None:
    """A CUDA registration reaches the server with its handle decoded; its refusal comes back."""
    with pytest.raises(ServerFault):
        backend.register_cuda("c", bytes(64), 0, 16)
    assert "c" not in [region.name for region in backend.shm_status()]


def test_the_empty_region_name_is_not_everything(backend: StreamingBackend, tmp_path: Any) -> None:
    """unregister('') leaves all regions alone, although v2 takes '' for all of them."""
    key = f"/grpc_backend_{tmp_path.name}_{free_port()}"
    path = f"/dev/shm{key}"
    with open(path, "wb") as file:
        file.truncate(64)
    try:
        backend.register_system("kept", key, 64)
        backend.unregister("")
        assert "kept" in [region.name for region in backend.shm_status()]
    finally:
        backend.unregister("kept")
        os.unlink(path)


@pytest.mark.parametrize("shift", [2**16, 2 * 2**16])
def test_large_ports_reach_nobody(triton: TritonServer, shift: int) -> None:
    """A port above 65535 is refused, not reduced to that of a server (docs/v2-mapping.md §6)."""
    host, port = triton.grpc.split(":")
    backend = open_backend(Endpoint(GRPC, f"{host}:{int(port) + shift}"))
    for ask in (backend.live, backend.client, lambda: backend.infer(simple_call())):
        with pytest.raises(TransportFault) as caught:
            ask()
        assert caught.value.message == "GRPC client failed: 14: Name resolution failure"


def test_nobody_listens() -> None:
    """v1's words for a refused connection, chained to gRPC's error (docs/v1-behaviour.md §3.1)."""
    backend = open_backend(Endpoint(GRPC, f"127.0.0.1:{free_port()}"))
    with pytest.raises(TransportFault) as caught:
        backend.infer(simple_call())
    assert caught.value.message == "GRPC client failed: 14: Connect Failed"
    assert isinstance(caught.value.__cause__, grpc.RpcError)
    with pytest.raises(TransportFault, match="^GRPC client failed: 14: Connect Failed$"):
        backend.live()


def test_unknown_hosts() -> None:
    """v1's words for a host without an address (docs/v1-behaviour.md §3.1)."""
    backend = open_backend(Endpoint(GRPC, "nobody.invalid:8001"))
    with pytest.raises(TransportFault) as caught:
        backend.server_metadata()
    assert caught.value.message == "GRPC client failed: 14: Name resolution failure"


def test_an_http_port(triton: TritonServer) -> None:
    """gRPC to an HTTP port says what it said in v1 (docs/v1-behaviour.md §3.1)."""
    backend = open_backend(Endpoint(GRPC, triton.http))
    with pytest.raises(TransportFault) as caught:
        backend.live()
    assert caught.value.message == "GRPC client failed: 2: Stream removed"


def test_a_server_of_something_else() -> None:
    """A gRPC server without the v2 service is answered with code 12, as in v1."""
    # docs/v1-behaviour.md §3.1
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        backend = open_backend(Endpoint(GRPC, f"127.0.0.1:{port}"))
        for ask in (backend.live, lambda: backend.infer(simple_call())):
            with pytest.raises(TransportFault, match=r"^GRPC client failed: 12: "):
                ask()
    finally:
        server.stop(None)

"""The gRPC backend on a real server, beyond the shared contract."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any, Iterator

import grpc
import numpy as np
import pytest
from tritonclient.grpc import model_config_pb2

from testbed import TritonServer
from tests.backends.contract_calls import bytes_of, simple, slow
from tests.own_interpreter import run_program
from tests.relays import Relay
from tritonclient_shim.backends import open_backend
from tritonclient_shim.backends.base import Outcome, StreamingBackend
from tritonclient_shim.backends.grpc.backend import LARGE, connector_for
from tritonclient_shim.backends.grpc.framing import decode_reply, encode_request
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import GRPC, Endpoint, InferCall, InferReply, OutputSpec, TensorIn


@pytest.fixture
def backend(triton: TritonServer) -> Iterator[StreamingBackend]:
    """Yield a backend of the session's server."""
    opened: Any = open_backend(Endpoint(GRPC, triton.grpc))
    yield opened
    opened.close()


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1:1"])
def test_async_calls_that_cannot_be_sent(address: str) -> None:
    """Call ``done`` once if sending fails."""
    seen: Queue[Any] = Queue()
    backend = open_backend(Endpoint(GRPC, address))
    backend.infer_async(simple(), seen.put)
    assert isinstance(seen.get(timeout=10), TransportError)
    assert seen.empty()


def test_event_loops(backend: StreamingBackend) -> None:
    """In each event loop the outcome is that of a thread: a reply, or an error of the backend."""
    call = simple(request_id="5")

    async def ask() -> Outcome:
        return await backend.infer_in_loop(call)()

    assert [asyncio.run(ask()) for _ in range(2)] == [backend.infer(call)] * 2
    backend.close()
    assert isinstance(asyncio.run(ask()), TransportError)


def test_configuration_is_the_wire_form(backend: StreamingBackend) -> None:
    """model_config returns the bytes of inference.ModelConfig, which v1's message can parse."""
    document = backend.model_config("simple")
    assert isinstance(document.content, bytes)
    config = model_config_pb2.ModelConfig.FromString(document.content)
    assert (config.name, config.max_batch_size) == ("simple", 8)
    assert (document.backend, document.decoupled) == ("python", False)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("127.0.0.1:1", "14: Connect Failed"),
        ("nobody.invalid:8001", "14: Name resolution failure"),
        ("HTTP", "2: Stream removed"),
    ],
)
def test_no_server(triton: TritonServer, address: str, text: str) -> None:
    """Without a listener the error has v1's text and gRPC's error (docs/v1-behaviour.md §3.1)."""
    backend = open_backend(Endpoint(GRPC, triton.http if address == "HTTP" else address))
    for ask in (backend.live, lambda: backend.infer(simple())):
        with pytest.raises(TransportError) as caught:
            ask()
        assert caught.value.message == f"GRPC client failed: {text}"
        assert isinstance(caught.value.__cause__, grpc.RpcError)


def test_a_server_of_something_else() -> None:
    """A gRPC server without the v2 service gives code 12, as in v1."""
    # docs/v1-behaviour.md §3.1
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        backend = open_backend(Endpoint(GRPC, f"127.0.0.1:{port}"))
        for ask in (backend.live, lambda: backend.infer(simple())):
            with pytest.raises(TransportError, match=r"^GRPC client failed: 12: "):
                ask()
    finally:
        server.stop(None)


def test_a_client_closed_by_its_user(backend: StreamingBackend) -> None:
    """Code that closes the unwrapped client breaks no context."""
    backend.client().close()
    assert isinstance(backend.infer(simple()), InferReply)
    assert backend.client().is_server_live()


def test_a_users_client_outlives_its_connection(
    backend: StreamingBackend, triton: TritonServer
) -> None:
    """A client that a user keeps works on after the backend has another connection."""
    client, connector = backend.client(), connector_for(Endpoint(GRPC, triton.grpc))
    connector.discard(connector.connect())
    assert backend.client() is not client
    assert client.is_server_live()


def test_pending_async_calls_learn_of_a_closed_channel(start_triton: Any) -> None:
    """done is called also if the channel is closed under a pending call."""
    server = start_triton(models=["slow"])
    backend = open_backend(Endpoint(GRPC, server.grpc))
    outcomes: Queue[Any] = Queue()
    backend.infer_async(slow(5.0), outcomes.put)
    backend.client()._channel.close()
    error = outcomes.get(timeout=4)
    assert isinstance(error, TransportError)
    assert error.message.startswith("GRPC client failed: 1: ")


def test_a_broken_connection_gets_no_further_call(triton: TritonServer) -> None:
    """After a lost connection the next call uses a new one (docs/v2-mapping.md §6)."""
    with Relay(triton.grpc) as relay:
        endpoint = Endpoint(GRPC, relay.address)
        backend, connector = open_backend(endpoint), connector_for(endpoint)
        broken = connector.connect()
        relay.when_sent(b"INPUT0", relay.cut)
        with pytest.raises(TransportError, match="14: Socket closed"):
            backend.infer(simple())
        assert connector.connect() is not broken
        assert isinstance(backend.infer(simple()), InferReply)


WITHOUT_GRPC = """
import sys
sys.modules["grpc"] = None  # as where it is not installed
from tritonclient_shim.backends import open_backend
from tritonclient_shim.core.model import Endpoint
try:
    open_backend(Endpoint("grpc", "127.0.0.1:1"))
except ImportError as error:
    print(error)
"""


def test_without_grpc() -> None:
    """Without tritonclient's grpc part the message says what to run."""
    ended = run_program(WITHOUT_GRPC)
    assert ended.stdout.endswith("; run: pip install 'tritonclient[grpc]'\n")


# ------------------------------------------- requests that are too large for grpcio to keep

VALUES = np.arange(LARGE // 4 + 1, dtype=np.float32)


def large_call(model: str = "identity_fp32", values: Any = VALUES) -> InferCall:
    """Return a call with all of ``values`` in one row."""
    tensor = TensorIn("INPUT0", "FP32", (1, values.size), (values,), values.nbytes)
    return InferCall(model, "", (tensor,), (OutputSpec("OUTPUT0"),), "one")


def test_a_large_request_is_answered_like_any_other(triton: TritonServer) -> None:
    """A large request arrives completely, and its reply has id and data."""
    reply = open_backend(Endpoint(GRPC, triton.grpc)).infer(large_call())
    assert reply.request_id == "one"
    assert np.array_equal(np.frombuffer(bytes_of(reply.outputs[0]), np.float32), VALUES)


@pytest.mark.parametrize(("values", "kept"), [(VALUES, 0), (VALUES[:4], 1)])
def test_a_large_request_is_let_go(triton: TritonServer, values: Any, kept: int) -> None:
    """A large request leaves its list, so that no reference keeps it while the server works."""
    request = [encode_request(large_call(values=values))]
    reply = decode_reply(connector_for(Endpoint(GRPC, triton.grpc)).connect().exchange(request, ()))
    assert np.array_equal(np.frombuffer(bytes_of(reply.outputs[0]), np.float32), values)
    assert len(request) == kept

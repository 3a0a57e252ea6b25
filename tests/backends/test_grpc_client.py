"""The tritonclient client of the gRPC backend, and what its users may do to it."""

from __future__ import annotations

import gc
import sys
from queue import Queue
from typing import Any, Iterator

import pytest
import tritonclient.grpc
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException

from testbed import TritonServer
from tests.backends.contract_calls import simple, slow
from tritonclient_shim.backends.base import StreamingBackend
from tritonclient_shim.backends.clients import user_client_class
from tritonclient_shim.backends.grpc import connection, open_backend
from tritonclient_shim.core.errors import TransportFault
from tritonclient_shim.core.model import GRPC, Endpoint, InferReply


@pytest.fixture
def backend(triton: TritonServer) -> Iterator[StreamingBackend]:
    """A backend of the session's server."""
    opened = open_backend(Endpoint(GRPC, triton.grpc))
    yield opened
    opened.close()


def test_contexts_share_one_client(backend: StreamingBackend, triton: TritonServer) -> None:
    """One tritonclient client per url and process, as v1 had one channel."""
    # docs/v1-behaviour.md §9.2
    other = open_backend(Endpoint(GRPC, triton.grpc))
    client = backend.client()
    assert isinstance(client, tritonclient.grpc.InferenceServerClient)
    assert other.client()._channel is client._channel
    assert client.is_server_live()


def test_a_client_closed_by_its_user_is_replaced(backend: StreamingBackend) -> None:
    """Code that closes the unwrapped client breaks no context; the next one is new."""
    first = backend.client()
    first.close()
    first.close()
    with pytest.raises(InferenceServerException, match="this client is closed"):
        first.is_server_live()
    assert isinstance(backend.infer(simple()), InferReply)
    assert backend.client() is not first
    assert backend.client().is_server_live()


def test_a_channel_closed_by_its_user_is_replaced(start_triton: Any) -> None:
    """Not even closing the channel under the unwrapped client breaks a context."""
    server = start_triton(models=["simple"])
    backend = open_backend(Endpoint(GRPC, server.grpc))
    backend.client()._channel.close()
    assert isinstance(backend.infer(simple()), InferReply)
    backend.client()._channel.close()
    assert backend.live()
    backend.client()._channel.close()
    assert set(backend.model_configs(["simple"])) == {"simple"}


def test_pending_async_calls_learn_of_a_closed_channel(start_triton: Any) -> None:
    """done is called even when the channel is closed under a pending call."""
    server = start_triton(models=["slow"])
    backend = open_backend(Endpoint(GRPC, server.grpc))
    outcomes: Queue[Any] = Queue()
    backend.infer_async(slow(5.0), outcomes.put)
    backend.client()._channel.close()
    fault = outcomes.get(timeout=4)
    assert isinstance(fault, TransportFault)
    assert fault.message.startswith("GRPC client failed: 1: ")


def test_without_the_channel_of_tritonclient(
    triton: TritonServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tritonclient that keeps its channel elsewhere gets a second one beside it."""

    class Sealed:
        """A client of which only the public methods are known."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.public = tritonclient.grpc.InferenceServerClient(*args, **kwargs)

    class Grpc:
        InferenceServerClient = Sealed

    class Tritonclient:
        grpc = Grpc

    monkeypatch.setattr(connection, "tritonclient", Tritonclient)
    made = connection.GrpcConnection(connection.connector_for(Endpoint(GRPC, triton.grpc)))
    request = service_pb2.ServerLiveRequest
    ask = made.method("ServerLive", request, service_pb2.ServerLiveResponse)
    assert ask(request()).live


def test_a_client_without_del_goes_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tritonclient whose client does not close itself when it is dropped leaves no message."""

    class Sealed:
        """A client of which nothing is known."""

    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    dropped = user_client_class(Sealed)()
    del dropped
    gc.collect()
    assert ignored == []

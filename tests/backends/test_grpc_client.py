"""tritonclient's client of the gRPC backend, and actions of its users."""

from __future__ import annotations

from queue import Queue
from typing import Any, Iterator

import pytest

from testbed import TritonServer
from tests.backends.contract_calls import simple, slow
from tests.own_interpreter import run_program
from tritonclient_shim.backends.base import StreamingBackend
from tritonclient_shim.backends.grpc import open_backend
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import GRPC, Endpoint, InferReply


@pytest.fixture
def backend(triton: TritonServer) -> Iterator[StreamingBackend]:
    """Yield a backend of the session's server."""
    opened = open_backend(Endpoint(GRPC, triton.grpc))
    yield opened
    opened.close()


def test_a_client_closed_by_its_user(backend: StreamingBackend) -> None:
    """Code that closes the unwrapped client breaks no context."""
    backend.client().close()
    assert isinstance(backend.infer(simple()), InferReply)
    assert backend.client().is_server_live()


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


WITHOUT_GRPC = """
import sys
sys.modules["grpc"] = None  # as where it is not installed
from tritonclient_shim.backends.grpc import open_backend
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

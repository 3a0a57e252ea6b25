"""Requests that are too large for grpcio to keep, on a real server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from testbed import TritonServer
from tests.backends.contract_calls import bytes_of
from tritonclient_shim.backends.grpc import open_backend
from tritonclient_shim.backends.grpc.backend import LARGE, connector_for
from tritonclient_shim.backends.grpc.framing import decode_reply, encode_request
from tritonclient_shim.core.errors import TransportError
from tritonclient_shim.core.model import GRPC, Endpoint, InferCall, OutputSpec, TensorIn
from tritonclient_shim.settings import Settings

VALUES = np.arange(LARGE // 4 + 1, dtype=np.float32)


def call(model: str = "identity_fp32", values: Any = VALUES) -> InferCall:
    """Return a call with all of ``values`` in one row."""
    tensor = TensorIn("INPUT0", "FP32", (1, values.size), (values,), values.nbytes)
    return InferCall(model, "", (tensor,), (OutputSpec("OUTPUT0"),), "one")


def test_it_is_answered_like_any_other(triton: TritonServer) -> None:
    """A large request arrives completely, and its reply has id and data."""
    reply = open_backend(Endpoint(GRPC, triton.grpc)).infer(call())
    assert reply.request_id == "one"
    assert np.array_equal(np.frombuffer(bytes_of(reply.outputs[0]), np.float32), VALUES)


@pytest.mark.parametrize(("values", "kept"), [(VALUES, 0), (VALUES[:4], 1)])
def test_it_is_let_go(triton: TritonServer, values: Any, kept: int) -> None:
    """A large request leaves its list, so that no reference keeps it while the server works."""
    request = [encode_request(call(values=values))]
    reply = decode_reply(connector_for(Endpoint(GRPC, triton.grpc)).connect().exchange(request, ()))
    assert np.array_equal(np.frombuffer(bytes_of(reply.outputs[0]), np.float32), values)
    assert len(request) == kept


def test_the_time_limit_holds(triton: TritonServer) -> None:
    """network_timeout ends a large request as any other."""
    backend = open_backend(Endpoint(GRPC, triton.grpc), (), Settings(network_timeout=0.001))
    with pytest.raises(TransportError, match="Deadline Exceeded"):
        backend.infer(call())

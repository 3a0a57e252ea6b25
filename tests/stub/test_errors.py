"""Errors of the service that gRPC did not raise, as the raw stub raises them."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    InferenceServerException,
    TransportError,
    UnreadableReply,
)
from tritonclient_shim.stub.calls import rpc_error

Code = grpc.StatusCode
TOO_LARGE = "Request has byte size 2147483650 which exceed gRPC's byte size limit 2147483647."
UNREADABLE = UnreadableReply("it is odd")


@pytest.mark.parametrize(
    ("backend_error", "code", "details"),
    [
        (TransportError(TOO_LARGE), Code.RESOURCE_EXHAUSTED, TOO_LARGE),
        (
            TransportError("GRPC client failed: 14: Socket closed", "StatusCode.UNAVAILABLE"),
            Code.UNAVAILABLE,
            "Socket closed",
        ),
        (ForeignError("odd"), Code.INTERNAL, "Exception deserializing response! odd"),
        (UNREADABLE, Code.INTERNAL, f"Exception deserializing response! {UNREADABLE}"),
    ],
    ids=["too large to send", "connection lost", "foreign", "unreadable"],
)
def test_rpc_error_of_a_backend_error(
    backend_error: BackendError, code: grpc.StatusCode, details: str
) -> None:
    """Scripts that catch grpc.RpcError get gRPC's code and words from it."""
    error = InferenceServerException("what the service says of it")
    error.__cause__ = backend_error
    raised: Any = rpc_error(error)
    assert isinstance(raised, grpc.RpcError)
    assert (raised.code(), raised.details()) == (code, details)

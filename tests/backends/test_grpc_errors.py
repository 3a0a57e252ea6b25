"""gRPC statuses in v1's words (docs/v1-behaviour.md §3.1, docs/v2-mapping.md §6)."""

from __future__ import annotations

import grpc
import pytest

from tritonclient_shim.backends.grpc.errors import as_backend_error, error_of
from tritonclient_shim.core.errors import ServerError, TransportError

CODE = grpc.StatusCode
RESET = "Received RST_STREAM with error code 2"
UNREADABLE = "Exception deserializing response!"
PAGE = "Received http2 header with status: 401"
INSECURE = (
    "Established channel does not have a sufficient security level to transfer call credential."
)
REFUSED = "Failed to connect to remote host: Connection refused"

TRANSPORT = [
    (
        CODE.UNAVAILABLE,
        f"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: {REFUSED}",
        "14: Connect Failed",
    ),
    (
        CODE.UNAVAILABLE,
        "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:1.2.3.4: Socket closed",
        "2: Stream removed",
    ),
    (
        CODE.UNAVAILABLE,
        "DNS resolution failed for h:1: C-ares status is not ARES_SUCCESS qtype=A name=h",
        "14: Name resolution failure",
    ),
    (
        CODE.UNAVAILABLE,
        "errors resolving h:1: [field:hostname lookup error:Domain name not found]",
        "14: Name resolution failure",
    ),
    (CODE.UNAVAILABLE, "Socket closed", "14: Socket closed"),
    (CODE.UNAVAILABLE, "Stream removed (Socket closed)", "14: Socket closed"),
    (CODE.UNAVAILABLE, "recvmsg:Connection reset by peer", "14: Socket closed"),
    (CODE.UNAVAILABLE, "ping timeout", "14: keepalive watchdog timeout"),
    (CODE.UNAVAILABLE, "keepalive watchdog timeout", "14: keepalive watchdog timeout"),
    (CODE.UNAVAILABLE, "Too many pings", "14: Too many pings"),
    (CODE.UNAVAILABLE, "GOAWAY received; Debug Text: Server exiting", "14: Socket closed"),
    (CODE.UNAVAILABLE, "", "14: "),
    (CODE.UNAVAILABLE, "no healthy upstream", "14: no healthy upstream"),
    (CODE.UNIMPLEMENTED, "", "12: "),
    (CODE.UNIMPLEMENTED, "unknown service inference.X", "12: unknown service inference.X"),
    (CODE.CANCELLED, "Channel closed!", "1: Channel closed!"),
    (CODE.DEADLINE_EXCEEDED, "Stream removed (Deadline Exceeded)", "4: Deadline Exceeded"),
    (CODE.UNKNOWN, "Stream removed", "2: Stream removed"),
    (CODE.UNKNOWN, "Stream removed (Data frame received)", "2: Stream removed"),
    (CODE.UNKNOWN, "No status received", "2: No status received"),
    (CODE.UNKNOWN, "Exception iterating requests!", "2: Exception iterating requests!"),
    (CODE.INTERNAL, RESET, f"13: {RESET}"),
    (CODE.INTERNAL, f"Stream removed (RST_STREAM ({RESET}))", f"13: {RESET}"),
    (CODE.PERMISSION_DENIED, RESET, f"7: {RESET}"),
    (CODE.INTERNAL, "Stream removed", "13: Stream removed"),
    (CODE.INTERNAL, UNREADABLE, f"13: {UNREADABLE}"),
    (CODE.UNAUTHENTICATED, PAGE, f"16: {PAGE}"),
    (CODE.UNAUTHENTICATED, INSECURE, f"16: {INSECURE}"),
    (CODE.RESOURCE_EXHAUSTED, "CLIENT: too large", "8: CLIENT: too large"),
]

REFUSALS = [
    (CODE.INVALID_ARGUMENT, "[request id: 5] expected 2 inputs", "expected 2 inputs"),
    (CODE.NOT_FOUND, "Request for unknown model: 'x' is not found", None),
    (CODE.ALREADY_EXISTS, "shared memory region 'r' already in manager", None),
    (CODE.INTERNAL, "in ensemble 'e', [request id: 1] boom", "in ensemble 'e', boom"),
    (CODE.UNAVAILABLE, "[request id: 56] Exceeds maximum queue size", "Exceeds maximum queue size"),
    (CODE.UNAVAILABLE, "Request timeout expired", None),
    (CODE.UNAVAILABLE, "explicit model load / unload is not allowed if polling is enabled", None),
    (CODE.UNAVAILABLE, "This protocol is restricted, expecting header 'triton-k'", None),
    (CODE.UNAVAILABLE, "Server not ready", None),
    (CODE.UNIMPLEMENTED, "ModelInfer RPC doesn't support models with decoupled", None),
    (CODE.UNAVAILABLE, "the model's database: Socket closed", None),
    (CODE.UNAVAILABLE, "in model 'm': DNS resolution failed", None),
    (CODE.UNIMPLEMENTED, "the model has no unknown service ", None),
    (CODE.CANCELLED, "the model has cancelled the request", None),
    (CODE.UNKNOWN, "the model's own trouble", None),
    (CODE.UNKNOWN, "Exception calling application: boom", None),
    (CODE.INTERNAL, "in model 'm': Received RST_STREAM with error code 2", None),
]


@pytest.mark.parametrize(("code", "details", "text"), TRANSPORT)
def test_no_usable_answer(code: grpc.StatusCode, details: str, text: str) -> None:
    """gRPC's own errors become v1's text with the numeric code (docs/v1-behaviour.md §3.1)."""
    error = error_of(code, details)
    assert isinstance(error, TransportError)
    assert error.message == f"GRPC client failed: {text}"


@pytest.mark.parametrize(("code", "details", "text"), REFUSALS)
def test_refusals(code: grpc.StatusCode, details: str, text: str | None) -> None:
    """The server's errors keep their text, without request ids (docs/v2-mapping.md §5, §6)."""
    error = error_of(code, details)
    assert isinstance(error, ServerError)
    assert error.message == (details if text is None else text)
    assert error.code == code.name
    assert error.status == f"StatusCode.{code.name}"


def test_a_call_that_an_interceptor_has_cancelled() -> None:
    """An RpcError without code and details becomes an error too."""
    error = as_backend_error(grpc.FutureCancelledError())
    assert isinstance(error, TransportError)
    assert error.message == "GRPC client failed: 1: Channel closed!"

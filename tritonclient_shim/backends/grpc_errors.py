"""gRPC status → fault: one table of patterns (v1 §3.1, v2-mapping §6)."""

from __future__ import annotations

import re
from typing import Any, Collection, NamedTuple, Pattern

import grpc
from tritonclient.utils import InferenceServerException

from tritonclient_shim.backends.wire_names import user_message
from tritonclient_shim.errors import Fault, ServerFault, TransportFault

StatusCode = grpc.StatusCode

STREAM_CLOSED = "Stream has been closed."  # v1 Appendix A
CONNECT_FAILED = "Connect Failed"
NO_SUCH_NAME = "Name resolution failure"

#: Statuses that only ever carry an answer of the server, unless a row below says otherwise.
_APPLICATION = frozenset(
    {
        StatusCode.ABORTED,
        StatusCode.ALREADY_EXISTS,
        StatusCode.FAILED_PRECONDITION,
        StatusCode.INTERNAL,
        StatusCode.INVALID_ARGUMENT,
        StatusCode.NOT_FOUND,
        StatusCode.OUT_OF_RANGE,
        StatusCode.PERMISSION_DENIED,
        StatusCode.UNAUTHENTICATED,
        StatusCode.UNKNOWN,
    }
)


class _Row(NamedTuple):
    """Details that match ``pattern`` under ``code`` are v1's ``text`` under ``becomes``.

    ``text`` None leaves the details as they are; ``becomes`` None: a server's own words.
    """

    code: Any
    pattern: Pattern[str]
    becomes: Any
    text: str | None = None


def _row(code: Any, pattern: str, becomes: Any, text: str | None = None) -> _Row:
    return _Row(code, re.compile(pattern, re.IGNORECASE | re.DOTALL), becomes, text)


_ROWS = (
    # What Triton says itself under the codes that gRPC uses for its own troubles.
    _row(StatusCode.UNAVAILABLE, "Exceeds maximum queue size", None),
    _row(StatusCode.UNAVAILABLE, "Request timeout expired", None),
    _row(StatusCode.UNAVAILABLE, "explicit model load / unload", None),
    _row(StatusCode.UNAVAILABLE, "(protocol|API) is restricted", None),
    _row(StatusCode.UNAVAILABLE, "Request for unknown model", None),
    _row(StatusCode.UNAVAILABLE, r"Server (is )?(not ready|exiting|stopping)", None),
    _row(StatusCode.UNIMPLEMENTED, "ModelInfer RPC doesn't support", None),
    _row(StatusCode.UNIMPLEMENTED, "correlation ID", None),
    # Somebody listens but hangs up on HTTP/2, for example an HTTP port (v1 §3.1).
    _row(
        StatusCode.UNAVAILABLE,
        "failed to connect .*(Socket closed|Connection reset|Broken pipe|http1)",
        StatusCode.UNKNOWN,
        "Stream removed",
    ),
    _row(StatusCode.UNAVAILABLE, "failed to connect", StatusCode.UNAVAILABLE, CONNECT_FAILED),
    _row(
        StatusCode.UNAVAILABLE,
        "errors resolving|DNS resolution failed|name resolution",
        StatusCode.UNAVAILABLE,
        NO_SUCH_NAME,
    ),
    _row(
        StatusCode.UNAVAILABLE,
        "Socket closed|Connection reset|Broken pipe|GOAWAY|connection closed",
        StatusCode.UNAVAILABLE,
        "Socket closed",
    ),
    # gRPC's own words under codes that servers use as well.
    _row(StatusCode.INTERNAL, "^Exception (de)?serializing|RST_STREAM", StatusCode.INTERNAL),
    _row(StatusCode.UNKNOWN, "^Stream removed|^Exception |http2 header", StatusCode.UNKNOWN),
)

#: v1's words when no connection came about: the channel is now in back-off.
_NOT_CONNECTED = frozenset({CONNECT_FAILED, NO_SUCH_NAME, "Stream removed"})


def transport_fault(code: Any, details: str) -> TransportFault:
    """Status and details → fault in v1's words, ``GRPC client failed: 14: …`` (v1 §3.1)."""
    return TransportFault(f"GRPC client failed: {code.value[0]}: {details}", str(code))


def fault_of(code: Any, details: str | None) -> Fault:
    """What a call ended with → the fault to raise."""
    text = details or ""
    for row in _ROWS:
        if row.code is code and row.pattern.search(text):
            return _by_row(row, text)
    if code in _APPLICATION:
        return server_fault(code, text)
    return transport_fault(code, text)


def _by_row(row: _Row, text: str) -> Fault:
    if row.becomes is None:
        return server_fault(row.code, text)
    return transport_fault(row.becomes, text if row.text is None else row.text)


def server_fault(code: Any, details: str) -> ServerFault:
    """A refusal of the server, without its mention of a request id."""
    return ServerFault(user_message(details, ()), code.name, str(code))


def in_users_words(fault: Fault, regions: Collection[str]) -> Fault:
    """``fault`` with the users' names of ``regions`` where the server wrote its own."""
    if not regions or not isinstance(fault, ServerFault):
        return fault
    renamed = ServerFault(user_message(fault.message, regions), fault.code, fault.status)
    return caused(renamed, fault.__cause__)


def caused(fault: Fault, cause: BaseException | None) -> Fault:
    """``fault``, chained to what made it, for faults that are handed over, not raised."""
    fault.__cause__ = cause
    return fault


def never_connected(fault: Fault) -> bool:
    """True for a fault that leaves the channel in back-off, where it would fail unasked."""
    if not isinstance(fault, TransportFault):
        return False
    return fault.message.rpartition(": ")[2] in _NOT_CONNECTED


def call_of(error: Any) -> tuple[Any, str | None]:
    """A gRPC error, or tritonclient's rendering of one → (status code, details)."""
    if isinstance(error, InferenceServerException):
        name = str(error.status()).rpartition(".")[2]
        return getattr(StatusCode, name, StatusCode.UNKNOWN), error.message()
    return error.code(), error.details()


#: What calls of gRPC and of tritonclient end with when they fail.
CALL_ERRORS = (grpc.RpcError, grpc.FutureCancelledError, InferenceServerException)


def as_fault(error: Any, regions: Collection[str] = ()) -> Fault:
    """One of :data:`CALL_ERRORS` → the fault to raise from it; see :func:`in_users_words`."""
    if isinstance(error, grpc.FutureCancelledError):  # a user of client() closed it meanwhile
        return transport_fault(StatusCode.CANCELLED, "Channel closed!")
    return in_users_words(fault_of(*call_of(error)), regions)

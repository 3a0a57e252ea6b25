"""gRPC status → error: one table of patterns (docs/v1-behaviour.md §3.1, docs/v2-mapping.md §6)."""

from __future__ import annotations

import re
from typing import Any, Collection

import grpc

from tritonclient_shim.backends.names import user_message
from tritonclient_shim.core.errors import BackendError, ServerError, TransportError, TransportKind

StatusCode = grpc.StatusCode

STREAM_CLOSED = "Stream has been closed."  # docs/v1-behaviour.md §A
NO_SUCH_NAME = "Name resolution failure"
_REMOVED = "Stream removed"

#: Statuses under which a server refuses, unless the words are gRPC's own.
_APPLICATION = frozenset(
    {
        StatusCode.ABORTED,
        StatusCode.ALREADY_EXISTS,
        StatusCode.CANCELLED,
        StatusCode.FAILED_PRECONDITION,
        StatusCode.INTERNAL,
        StatusCode.INVALID_ARGUMENT,
        StatusCode.NOT_FOUND,
        StatusCode.OUT_OF_RANGE,
        StatusCode.PERMISSION_DENIED,
        StatusCode.UNAUTHENTICATED,
        StatusCode.UNAVAILABLE,
        StatusCode.UNIMPLEMENTED,
        StatusCode.UNKNOWN,
    }
)


#: The first words of messages that gRPC makes on this side, under codes that servers use as well.
#: Only the words distinguish them: metadata and debug text are the same for both.
_GRPCS_OWN = re.compile(
    "Stream removed|GOAWAY received|No status received|Received RST_STREAM with error code "
    "|Received http2 header with status: |Exception (de)?serializing re"
    "|Exception iterating requests|Trying to connect an http1|Failed parsing HTTP/2"
    "|frame of size [0-9]+ overflows"
    "|Error parsing '|Compression bit set but|Decompression failed due to "
    "|Unexpected error decompressing data|Established channel does not have a sufficient security"
)
#: The first words under codes that gRPC and proxies use most. A model may refuse with these codes
#: too, in any other words.
_GRPCS_OWN_BY_CODE = {
    StatusCode.UNAVAILABLE: re.compile(
        r"\Z|(ipv4|ipv6|unix|dns):|failed to connect |Connection refused"
        "|connections to all backends failing|empty address list"
        "|errors resolving |DNS resolution failed|name resolution|Socket closed|Connection reset"
        "|connection closed|Broken pipe|recvmsg:|sendmsg|RST_STREAM|GOAWAY|ping timeout"
        "|keepalive watchdog timeout|Too many pings|Endpoint |Transport closed"
        "|Cancelling all calls|Ssl handshake failed|Getting metadata from plugin failed"
        "|upstream connect error|no healthy upstream",
        re.IGNORECASE,
    ),
    StatusCode.UNIMPLEMENTED: re.compile(
        r"\Z|unknown (service|method) |Method not (found|implemented)"
        "|(Service|Method) is unimplemented",
        re.IGNORECASE,
    ),
    StatusCode.CANCELLED: re.compile(
        r"\Z|Channel closed!|Locally cancelled by application!|RST_STREAM|Cancelled\Z"
        "|Call cancelled|Cancelling all calls",
        re.IGNORECASE,
    ),
}
#: Newer versions of gRPC wrap the words of older ones in "Stream removed (…)" where a call ended on
#: this side.
_WRAPPED = re.compile(r"(?:Stream removed|RST_STREAM) \((.*)\)", re.DOTALL)

_LOST = TransportKind.LOST
_TIMEOUT = TransportKind.TIMEOUT
_OTHER = TransportKind.OTHER
#: Code → patterns of details, each with v1's text and the kind of the error. The first that fits
#: counts.
_RULES: dict[Any, tuple[tuple[str, str, TransportKind], ...]] = {
    StatusCode.UNAVAILABLE: (
        ("failed to connect", "Connect Failed", _LOST),
        ("errors resolving|DNS resolution failed|name resolution", NO_SUCH_NAME, _LOST),
        (
            "Socket closed|Connection reset|Broken pipe|GOAWAY|connection closed",
            "Socket closed",
            _LOST,
        ),
        # gRPC's words in the days of v1, and still in grpcio 1.56.
        ("ping timeout|^keepalive watchdog timeout$", "keepalive watchdog timeout", _LOST),
    ),
    StatusCode.DEADLINE_EXCEEDED: (("Deadline Exceeded", "Deadline Exceeded", _TIMEOUT),),
    StatusCode.UNKNOWN: (("^Stream removed", _REMOVED, _LOST),),
    StatusCode.INTERNAL: (("^Stream removed$", _REMOVED, _LOST),),
}
#: Somebody listens but hangs up on HTTP/2, for example an HTTP port (docs/v1-behaviour.md §3.1).
_HANGS_UP = "failed to connect .*(Socket closed|Connection reset|Broken pipe|http1)"


def transport_error(code: Any, details: str, kind: TransportKind = _OTHER) -> TransportError:
    """Status and details → error in v1's words, ``GRPC client failed: 14: …``
    (docs/v1-behaviour.md §3.1).
    """
    error = TransportError(f"GRPC client failed: {code.value[0]}: {details}", str(code), kind)
    error.no_such_call = code is StatusCode.UNIMPLEMENTED
    return error


def error_of(code: Any, details: str | None, regions: Collection[str] = ()) -> BackendError:
    """Status and details of a call → the error to raise.

    A refusal has the users' names of ``regions`` where the server wrote stored names.
    """
    text = details or ""
    if _is_refusal(code, text):
        return refusal(code, text, regions)
    plain = text if code is StatusCode.UNKNOWN else _unwrapped(text)
    if code is StatusCode.UNAVAILABLE and _matches(_HANGS_UP, plain):
        return transport_error(StatusCode.UNKNOWN, _REMOVED, _LOST)
    for pattern, v1_text, kind in _RULES.get(code, ()):
        if _matches(pattern, plain):
            return transport_error(code, v1_text, kind)
    return transport_error(code, plain)


def _matches(pattern: str, details: str) -> bool:
    return re.search(pattern, details, re.IGNORECASE | re.DOTALL) is not None


def _is_refusal(code: Any, text: str) -> bool:
    if _GRPCS_OWN.match(text):
        return False
    own = _GRPCS_OWN_BY_CODE.get(code)
    if own is not None and own.match(text):
        return False
    return code in _APPLICATION


def _unwrapped(details: str) -> str:
    """``Stream removed (Socket closed)`` → ``Socket closed``."""
    match = _WRAPPED.fullmatch(details)
    return _unwrapped(match[1]) if match else details


def refusal(code: Any, details: str, regions: Collection[str]) -> ServerError:
    """Return a refusal of the server, without its mention of a request id."""
    return ServerError(user_message(details, regions), code.name, str(code))


#: What a gRPC call that fails raises.
CALL_ERRORS = (grpc.RpcError, grpc.FutureCancelledError)


def as_backend_error(error: Any, regions: Collection[str] = ()) -> BackendError:
    """One of :data:`CALL_ERRORS` → the error that it stands for, chained to it."""
    if isinstance(error, grpc.FutureCancelledError):  # by an interceptor of the user
        backend_error: BackendError = transport_error(StatusCode.CANCELLED, "Channel closed!")
    else:
        backend_error = error_of(error.code(), error.details(), regions)
    backend_error.__cause__ = error
    return backend_error

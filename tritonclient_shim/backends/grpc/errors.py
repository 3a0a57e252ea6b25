"""gRPC status → error: one table of patterns (docs/v1-behaviour.md §3.1, docs/v2-mapping.md §6)."""

from __future__ import annotations

import re
from typing import Any, Collection, NamedTuple, Pattern

import grpc

from tritonclient_shim.backends.names import user_message
from tritonclient_shim.core.errors import BackendError, ServerError, TransportError, TransportKind
from tritonclient_shim.core.server_sentences import said_by_triton

StatusCode = grpc.StatusCode

STREAM_CLOSED = "Stream has been closed."  # docs/v1-behaviour.md §A
CONNECT_FAILED = "Connect Failed"
NO_SUCH_NAME = "Name resolution failure"

#: Statuses under which a server refuses, unless the words are gRPC's own.
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


#: The first words of messages that gRPC makes on this side, under codes that servers use as well.
#: Nothing but the words tells the two apart: metadata and debug text are the same for both.
_GRPCS_OWN = re.compile(
    "Stream removed|GOAWAY received|No status received|Received RST_STREAM with error code "
    "|Received http2 header with status: |Exception (de)?serializing re"
    "|Exception iterating requests|Trying to connect an http1|Failed parsing HTTP/2"
    "|frame of size [0-9]+ overflows"
    "|Error parsing '|Compression bit set but|Decompression failed due to "
    "|Unexpected error decompressing data|Established channel does not have a sufficient security"
)
#: Newer versions of gRPC wrap the words of older ones in "Stream removed (…)" where a call ended on
#: this side.
_WRAPPED = re.compile(r"(?:Stream removed|RST_STREAM) \((.*)\)", re.DOTALL)


class _StatusRule(NamedTuple):
    """Details that match ``pattern`` under ``code`` become v1's ``text`` under ``becomes``."""

    code: Any
    pattern: Pattern[str]
    becomes: Any
    text: str
    kind: TransportKind


def _rule(code: Any, pattern: str, becomes: Any, text: str, kind: TransportKind) -> _StatusRule:
    return _StatusRule(code, re.compile(pattern, re.IGNORECASE | re.DOTALL), becomes, text, kind)


_RULES = (
    # Somebody listens but hangs up on HTTP/2, for example an HTTP port (docs/v1-behaviour.md §3.1).
    _rule(
        StatusCode.UNAVAILABLE,
        "failed to connect .*(Socket closed|Connection reset|Broken pipe|http1)",
        StatusCode.UNKNOWN,
        "Stream removed",
        TransportKind.UNREACHABLE,
    ),
    _rule(
        StatusCode.UNAVAILABLE,
        "failed to connect",
        StatusCode.UNAVAILABLE,
        CONNECT_FAILED,
        TransportKind.UNREACHABLE,
    ),
    _rule(
        StatusCode.UNAVAILABLE,
        "errors resolving|DNS resolution failed|name resolution",
        StatusCode.UNAVAILABLE,
        NO_SUCH_NAME,
        TransportKind.UNREACHABLE,
    ),
    _rule(
        StatusCode.UNAVAILABLE,
        "Socket closed|Connection reset|Broken pipe|GOAWAY|connection closed",
        StatusCode.UNAVAILABLE,
        "Socket closed",
        TransportKind.OTHER,
    ),
    # gRPC's words in the days of v1, and still in grpcio 1.56.
    _rule(
        StatusCode.UNAVAILABLE,
        "ping timeout|^keepalive watchdog timeout$",
        StatusCode.UNAVAILABLE,
        "keepalive watchdog timeout",
        TransportKind.SILENT,
    ),
    _rule(
        StatusCode.DEADLINE_EXCEEDED,
        "Deadline Exceeded",
        StatusCode.DEADLINE_EXCEEDED,
        "Deadline Exceeded",
        TransportKind.TIMEOUT,
    ),
    _rule(
        StatusCode.UNKNOWN,
        "^Stream removed",
        StatusCode.UNKNOWN,
        "Stream removed",
        TransportKind.DROPPED,
    ),
    _rule(
        StatusCode.INTERNAL,
        "^Stream removed$",
        StatusCode.INTERNAL,
        "Stream removed",
        TransportKind.DROPPED,
    ),
)

#: Kinds after which a channel is of no use. Without a connection gRPC waits before it tries again.
#: After silence or a time limit gRPC may hand the next call to a connection that leads nowhere.
_BREAKING = frozenset(
    {
        TransportKind.UNREACHABLE,
        TransportKind.DROPPED,
        TransportKind.SILENT,
        TransportKind.TIMEOUT,
    }
)


def transport_error(
    code: Any, details: str, kind: TransportKind = TransportKind.OTHER
) -> TransportError:
    """Status and details → error in v1's words, ``GRPC client failed: 14: …``
    (docs/v1-behaviour.md §3.1).
    """
    error = TransportError(f"GRPC client failed: {code.value[0]}: {details}", str(code), kind)
    error.no_such_call = code is StatusCode.UNIMPLEMENTED
    return error


def error_of(code: Any, details: str | None) -> BackendError:
    """Status and details of a call → the error to raise."""
    text = details or ""
    if _is_refusal(code, text):
        return server_error_of(code, text)
    plain = text if code is StatusCode.UNKNOWN else _unwrapped(text)
    for rule in _RULES:
        if rule.code is code and rule.pattern.search(plain):
            return transport_error(rule.becomes, rule.text, rule.kind)
    return transport_error(code, plain)


def _is_refusal(code: Any, text: str) -> bool:
    if _GRPCS_OWN.match(text):
        return False
    return code in _APPLICATION or said_by_triton(text, code.name)


def _unwrapped(details: str) -> str:
    """``Stream removed (Socket closed)`` → ``Socket closed``."""
    match = _WRAPPED.fullmatch(details)
    return _unwrapped(match[1]) if match else details


def server_error_of(code: Any, details: str) -> ServerError:
    """Return a refusal of the server, without its mention of a request id."""
    return ServerError(user_message(details, ()), code.name, str(code))


def in_users_words(error: BackendError, regions: Collection[str]) -> BackendError:
    """``error`` with the users' names of ``regions`` where the server wrote its own."""
    if not regions or not isinstance(error, ServerError):
        return error
    renamed = ServerError(user_message(error.message, regions), error.code, error.status)
    return caused(renamed, error.__cause__)


def caused(error: BackendError, cause: BaseException | None) -> BackendError:
    """``error``, chained to what made it, for errors that are handed over, not raised."""
    error.__cause__ = cause
    return error


def breaks_channel(error: BackendError) -> bool:
    """True if the channel is of no use after this error: a next call might not be sent."""
    return isinstance(error, TransportError) and error.kind in _BREAKING


#: What a gRPC call that fails raises.
CALL_ERRORS = (grpc.RpcError, grpc.FutureCancelledError)


def as_backend_error(error: Any, regions: Collection[str] = ()) -> BackendError:
    """One of :data:`CALL_ERRORS` → the error to raise from it; see :func:`in_users_words`."""
    if isinstance(error, grpc.FutureCancelledError):  # by an interceptor of the user
        return transport_error(StatusCode.CANCELLED, "Channel closed!")
    return in_users_words(error_of(error.code(), error.details()), regions)

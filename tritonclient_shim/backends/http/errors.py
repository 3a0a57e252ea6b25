"""What can go wrong over HTTP → errors, as tables.

v1's clients showed the texts of libcurl, as ``HTTP client failed: <text>``. The rules below were
checked against the genuine client (docs/v1-behaviour.md §3.1, §A).
"""

from __future__ import annotations

import json
import socket
import ssl
from http.client import (
    HTTPException,
    IncompleteRead,
    InvalidURL,
    RemoteDisconnected,
    UnknownProtocol,
)
from typing import Any, Iterable, NamedTuple

from tritonclient_shim.backends.names import user_message
from tritonclient_shim.core.errors import (
    BackendError,
    ForeignError,
    ServerError,
    TransportError,
    TransportKind,
    UnreadableReply,
)
from tritonclient_shim.servers.triton_sentences import Meaning, recognise

PREFIX = "HTTP client failed: "


class WeirdReply(HTTPException):
    """A reply that two readers could take for different ones."""


class Unsent(TransportError):
    """The server cannot have the whole request: nothing was executed."""


class Unanswered(TransportError):
    """The request was sent and the connection ended before the first byte of an answer."""


class AnotherReply(UnreadableReply):
    """The reply to another request. A proxy may have sent an answer late, or twice."""


class ErrorRule(NamedTuple):
    """An exception, libcurl's text for it, and the error it becomes."""

    exceptions: tuple[type[BaseException], ...]
    text: str
    error: type[TransportError] = TransportError
    kind: TransportKind = TransportKind.OTHER


_TIMEOUT = ErrorRule(
    (socket.timeout, TimeoutError), "Timeout was reached", kind=TransportKind.TIMEOUT
)


class Phase:
    """A step of an exchange. ``exceptions`` are those that become errors, by the first rule."""

    def __init__(self, *rules: ErrorRule) -> None:
        self._rules = rules
        self.exceptions = tuple([kind for rule in rules for kind in rule.exceptions])

    def error_of(self, failure: BaseException) -> TransportError:
        """Return the error of one of the exceptions; raise it from that."""
        rule = next(rule for rule in self._rules if isinstance(failure, rule.exceptions))
        return rule.error(PREFIX + rule.text, kind=rule.kind)


ADDRESS = Phase(
    ErrorRule((InvalidURL,), "URL using bad/illegal format or missing URL"),
    ErrorRule((UnknownProtocol,), "Unsupported protocol"),
    ErrorRule((UnicodeError,), "Couldn't resolve host name"),
)
CONNECT = Phase(
    _TIMEOUT,
    ErrorRule((socket.gaierror, UnicodeError), "Couldn't resolve host name"),
    ErrorRule((OSError,), "Couldn't connect to server"),
)
HANDSHAKE = Phase(
    _TIMEOUT,
    ErrorRule((ssl.SSLCertVerificationError,), "SSL peer certificate or SSH remote key was not OK"),
    ErrorRule((OSError, ValueError), "SSL connect error"),
)
SEND = Phase(
    _TIMEOUT,
    ErrorRule((OSError,), "Failed sending data to the peer", Unsent),
)
ANSWER = Phase(
    _TIMEOUT,
    ErrorRule((IncompleteRead,), "Transferred a partial file"),
    ErrorRule((RemoteDisconnected,), "Server returned nothing (no headers, no data)", Unanswered),
    ErrorRule((ConnectionError,), "Failure when receiving data from the peer", Unanswered),
    ErrorRule((OSError,), "Failure when receiving data from the peer"),
    ErrorRule((WeirdReply,), "Weird server reply"),
    ErrorRule((HTTPException, ValueError), "Unsupported protocol"),
)
BODY = Phase(
    _TIMEOUT,
    ErrorRule((MemoryError,), "Out of memory"),
    ErrorRule((IncompleteRead,), "Transferred a partial file"),
    ErrorRule((OSError, HTTPException, ValueError), "Failure when receiving data from the peer"),
)

#: HTTP status → canonical gRPC name, as Triton and gRPC pair them.
CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ALREADY_EXISTS",
    413: "RESOURCE_EXHAUSTED",
    429: "UNAVAILABLE",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def refusal(status: int, body: Any, names: Iterable[str] = ()) -> BackendError:
    """Status and body of an answer other than 200 → the error it stands for.

    Only ``{"error": <text>}`` is a v2 server's refusal; anything else is ForeignError. The text has
    the users' ``names`` where the server wrote stored names.
    """
    try:
        reply = json.loads(bytes(body))
        text = reply.get("error") if isinstance(reply, dict) else None
    except (ValueError, RecursionError, MemoryError):
        text = None
    if not isinstance(text, str):
        wrong = f"HTTP status {status} without the error text of a v2 server"
        error = ForeignError(wrong, bytes(body), status)
        error.no_such_call = status in (404, 405, 501)
        return error
    said = user_message(text, names)
    return ServerError(said, _code(status, said), str(status))


def _code(status: int, text: str) -> str:
    """Return the canonical name of a refusal. Triton 2.33 and 2.39 say 400 of everything."""
    if status == 400 and recognise(text, (Meaning.UNKNOWN_MODEL, Meaning.NOT_LOADED)):
        return "NOT_FOUND"
    return CODES.get(status, "UNKNOWN")

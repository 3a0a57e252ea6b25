"""Every error: what users catch, what backends raise, and the step from one to the other."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Any

from tritonclient.utils import InferenceServerException as _TritonException

#: A destructor that runs when the interpreter ends cannot wait for a thread.
INTERPRETER_ENDS = (
    "the interpreter is ending, and no thread is left that could receive an answer; expected a "
    "call before that: make it, and close the context, in the program or in a function that is "
    "registered with atexit"
)


class InferenceServerException(_TritonException):
    """The error of every ``tensorrtserver`` call.

    It subclasses tritonclient's exception, so half-migrated code may catch either.

    Parameters
    ----------
    err : str or None
        The message, without server and request id.
    server_id : str or None
        Id of the server that refused the request; '' for errors found by the client.
    request_id : int
        The request's id at the server; 0 for errors found by the client.
    status : str or None
        The v2 status behind it, as tritonclient words it (``400``, ``StatusCode.NOT_FOUND``).
    debug_details : object
        Further details, for tritonclient's ``debug_details()``.
    """

    def __init__(
        self,
        err: str | None,
        server_id: str | None = "",
        request_id: int = 0,
        status: str | None = None,
        debug_details: Any = None,
    ) -> None:
        super().__init__(err, status, debug_details)
        self._server_id = server_id if err is not None else None
        self._request_id = request_id

    def __reduce__(self) -> Any:
        state = (self._msg, self._server_id, self._request_id, self._status)
        return (InferenceServerException, state)

    def __str__(self) -> str:
        """``[<server id> <request id>] <message>``, also when the server id is ''
        (docs/v1-behaviour.md §1.6).
        """
        if self._server_id is None:
            return str(self._msg)
        return f"[{self._server_id} {self._request_id}] {self._msg}"

    def server_id(self) -> str | None:
        """Return the id of the server that refused the request, '' for an error of the client."""
        return self._server_id

    def request_id(self) -> int:
        """Return the id of the refused request, 0 for an error of the client."""
        return self._request_id


InferenceServerException.__module__ = "tensorrtserver.api"


def shown_cause(cause: BaseException) -> BaseException | None:
    """Return what a traceback of a legacy call shows as its cause: nothing, as in v1.

    Python's development mode shows the cause (``python -X dev``, ``PYTHONDEVMODE=1``). If a model
    of ``tritonclient_shim.testing`` raised an exception, the cause is that exception.
    """
    if sys.flags.dev_mode:
        return cause
    return cause.model_exception if isinstance(cause, BackendError) else None


def cause_of(error: BaseException) -> BaseException | None:
    """Return the cause of an error, also one that tracebacks do not show."""
    context = error.__context__ if isinstance(error, InferenceServerException) else None
    return context or error.__cause__


class BackendError(Exception):
    """An error below the session, which words it for the user."""

    #: True if the server replied that it has no such call, as without one of Triton's extensions.
    no_such_call = False

    #: The exception of a model that is a function of the user's, in this process.
    model_exception: Exception | None = None


class ServerError(BackendError):
    """The server refused a request.

    ``message`` is the server's text without ``[request id: …]`` prefixes, ``code`` the
    canonical gRPC name (``INVALID_ARGUMENT``), ``status`` tritonclient's way to write it.
    """

    def __init__(self, message: str, code: str = "INVALID_ARGUMENT", status: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status or code


class InvalidRequest(ServerError):
    """A request that v1's server would have refused, in v1's words. Nothing was sent."""


class TransportKind(Enum):
    """Why no usable answer came, as far as callers act on it."""

    LOST = "the connection is of no further use"
    TIMEOUT = "a time limit was reached"
    OTHER = "anything else"


class TransportError(BackendError):
    """No usable answer came. ``message`` is v1's complete client text
    (docs/v1-behaviour.md §3.1). Callers decide by ``kind``, never by the message.
    """

    def __init__(
        self, message: str, status: str = "", kind: TransportKind = TransportKind.OTHER
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind


class StreamEnded(TransportError):
    """A request was not sent, because its stream has ended. ``message`` has the reason."""


class Unsendable(TransportError):
    """The protocol cannot carry a name, or the data of a tensor; nothing was sent."""


class ForeignError(BackendError):
    """An answer came, but not from a v2 inference server (v1: "did not return status").

    ``http_status`` and ``body`` are those of an answer over HTTP that is an error, else 0 and
    empty. Such an answer may be a refusal of the server's HTTP framework, if the server's dialect
    says so.
    """

    def __init__(self, message: str, body: bytes = b"", http_status: int = 0) -> None:
        super().__init__(message)
        self.body = body
        self.http_status = http_status


class UnreadableReply(ForeignError):
    """A reply that cannot be read, probably of a v2 server.

    ``message`` says what is wrong with the answer, what was expected, and where to look.
    """

    def __init__(self, wrong: str, expected: str = "an answer of the KServe v2 protocol") -> None:
        self.message = (
            f"the server's answer could not be read: {wrong}; expected {expected}; check the "
            "server at this url, and any proxy in front of it"
        )
        super().__init__(self.message)

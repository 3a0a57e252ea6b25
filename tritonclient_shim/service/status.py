"""The outcome of a call → v1's ``RequestStatus`` (docs/v1-behaviour.md §9.3)."""

from __future__ import annotations

from tritonclient_shim.core import server_sentences
from tritonclient_shim.core.errors import InferenceServerException, ServerError, cause_of
from tritonclient_shim.core.server_sentences import Meaning
from tritonclient_shim.protos import request_status_pb2 as pb

#: v2's code of a refusal, by its canonical gRPC name → v1's code.
_CODES = {
    "ALREADY_EXISTS": pb.ALREADY_EXISTS,
    "INTERNAL": pb.INTERNAL,
    "INVALID_ARGUMENT": pb.INVALID_ARG,
    "NOT_FOUND": pb.NOT_FOUND,
    "UNAVAILABLE": pb.UNAVAILABLE,
    "UNIMPLEMENTED": pb.UNSUPPORTED,
    "UNKNOWN": pb.UNKNOWN,
    "UNSUPPORTED": pb.UNSUPPORTED,
}


def success(server_id: str, request_id: int) -> pb.RequestStatus:
    """Return the status of a request that has succeeded."""
    return pb.RequestStatus(code=pb.SUCCESS, server_id=server_id, request_id=request_id)


def refused(error: InferenceServerException) -> pb.RequestStatus:
    """Return the status of a server's refusal. Raise any other error again.

    A refusal whose code has no counterpart in v1, such as a proxy's UNAUTHENTICATED, is raised too.
    """
    backend_error = cause_of(error)
    refusal = (
        backend_error.code in _CODES
        if isinstance(backend_error, ServerError)
        else bool(error.server_id())
    )
    if not refusal:
        raise error
    return pb.RequestStatus(
        code=_code(error),
        msg=error.message() or "",
        server_id=error.server_id() or "",
        request_id=error.request_id(),
    )


def _code(error: InferenceServerException) -> int:
    """Return v1's code of a refusal, by its text, or else by v2's code.

    v2's code alone does not decide, because it depends on the protocol (docs/v2-mapping.md §6).
    """
    name = server_sentences.v1_code(error.message() or "")
    if name:
        return int(pb.RequestStatusCode.Value(name))
    backend_error = cause_of(error)
    return (
        _CODES.get(backend_error.code, pb.UNKNOWN)
        if isinstance(backend_error, ServerError)
        else pb.UNKNOWN
    )


def of_stream(error: ServerError) -> ServerError:
    """Return a refusal on a stream, which has no code, with the code that its text suggests."""
    malformed = server_sentences.says(error.message, Meaning.MALFORMED_REQUEST)
    return ServerError(error.message, "INVALID_ARGUMENT" if malformed else "INTERNAL")

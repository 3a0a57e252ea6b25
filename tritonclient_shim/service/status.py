"""Outcome of a call → v1's ``RequestStatus`` (docs/v1-behaviour.md §9.3)."""

from __future__ import annotations

import re

from tritonclient_shim.core.errors import InferenceServerException, ServerFault
from tritonclient_shim.protos import request_status_pb2 as pb

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

#: Refusals whose code in v1 was another than v2's: by HTTP or gRPC status, which differ among
#: themselves, or on a stream, where v2 tells none (docs/v2-mapping.md §4, §6).
_BY_TEXT = tuple(
    (re.compile(pattern), code)
    for pattern, code in (
        ("^no status available for unknown model", pb.INVALID_ARG),
        (
            "^Request for unknown model|Request timeout expired|Exceeds maximum queue size"
            "|explicit model load / unload|Server (is )?(not ready|exiting|stopping)",
            pb.UNAVAILABLE,
        ),
        ("^failed to (un)?load '", pb.INTERNAL),
        ("^shared memory region '.*' already in manager", pb.ALREADY_EXISTS),
        ("^Unable to find shared memory region", pb.NOT_FOUND),
        ("^Unable to open shared memory region", pb.INTERNAL),
        ("^class result not available|doesn't support models with decoupled", pb.UNSUPPORTED),
    )
)

#: What a v2 server says of a request that it finds malformed; anything else that it says on a
#: stream is the model's own error.
_MALFORMED = re.compile(
    r"^(inference request |expected \d+ |unexpected |model supports |input |inference input "
    r"|in ensemble |unable to find data|Invalid offset|shape mismatch|size mismatch)"
)


def success(server_id: str, request_id: int) -> pb.RequestStatus:
    """The status of a request that was answered."""
    return pb.RequestStatus(code=pb.SUCCESS, server_id=server_id, request_id=request_id)


def refused(error: InferenceServerException) -> pb.RequestStatus:
    """An error of the server family → its status; the error itself again if it is no refusal.

    That includes refusals for which v1 had no code, such as a proxy's UNAUTHENTICATED.
    """
    fault = error.__cause__
    refusal = fault.code in _CODES if isinstance(fault, ServerFault) else bool(error.server_id())
    if not refusal:
        raise error
    return pb.RequestStatus(
        code=_code(error),
        msg=error.message() or "",
        server_id=error.server_id() or "",
        request_id=error.request_id(),
    )


def _code(error: InferenceServerException) -> int:
    """v1's code of a refusal: by its text, else that of the v2 server's refusal behind it."""
    message = error.message() or ""
    for pattern, code in _BY_TEXT:
        if pattern.search(message):
            return code
    fault = error.__cause__
    return _CODES.get(fault.code, pb.UNKNOWN) if isinstance(fault, ServerFault) else pb.UNKNOWN


def of_stream(fault: ServerFault) -> ServerFault:
    """A refusal on a stream, which comes without status → the same with a likely one."""
    code = "INVALID_ARGUMENT" if _MALFORMED.search(fault.message) else "INTERNAL"
    return ServerFault(fault.message, code)

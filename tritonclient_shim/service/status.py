"""Outcome of a call → v1's ``RequestStatus`` (v1 §9.3)."""

from __future__ import annotations

from tritonclient_shim.errors import InferenceServerException, ServerFault
from tritonclient_shim.protos import request_status_pb2 as pb

_CODES = {
    "ALREADY_EXISTS": pb.ALREADY_EXISTS,
    "INTERNAL": pb.INTERNAL,
    "INVALID_ARGUMENT": pb.INVALID_ARG,
    "NOT_FOUND": pb.NOT_FOUND,
    "UNAVAILABLE": pb.UNAVAILABLE,
    "UNIMPLEMENTED": pb.UNSUPPORTED,
    "UNSUPPORTED": pb.UNSUPPORTED,
}


def success(server_id: str, request_id: int) -> pb.RequestStatus:
    """The status of a request that was answered."""
    return pb.RequestStatus(code=pb.SUCCESS, server_id=server_id, request_id=request_id)


def refused(error: InferenceServerException) -> pb.RequestStatus:
    """An error of the server family → its status; the error itself again if it is no refusal."""
    if not error.server_id() and not isinstance(error.__cause__, ServerFault):
        raise error
    return pb.RequestStatus(
        code=_code(error),
        msg=error.message() or "",
        server_id=error.server_id() or "",
        request_id=error.request_id(),
    )


def _code(error: InferenceServerException) -> int:
    """v1's code of a refusal: that of the v2 server's refusal behind it, by the table.

    A model that is not there was UNAVAILABLE to an inference and INVALID_ARG to a status
    request (v1 §9.3).
    """
    message = error.message() or ""
    if message.startswith("no status available for unknown model"):
        return pb.INVALID_ARG
    if message.startswith("Request for unknown model"):
        return pb.UNAVAILABLE
    fault = error.__cause__
    return _CODES.get(fault.code, pb.UNKNOWN) if isinstance(fault, ServerFault) else pb.UNKNOWN

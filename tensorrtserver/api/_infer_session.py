"""How ``InferContext`` opens its session (docs/v1-behaviour.md §3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorrtserver.api._lazy_imports import (
    arguments,
    control,
    endpoint,
    errors,
    headers,
    infer_session,
)
from tensorrtserver.api._protocol import protocol_of
from tritonclient_shim.core.ids import next_request_id

if TYPE_CHECKING:
    from tritonclient_shim.session.infer_session import InferSession


def open_session(
    url: Any,
    protocol: Any,
    model_name: Any,
    model_version: Any,
    verbose: Any,
    correlation_id: Any,
    streaming: Any,
    http_headers: Any,
) -> InferSession:
    """The constructor's arguments → an open session. They are checked in v1's order
    (docs/v1-behaviour.md §3.1).
    """
    headers.check_kinds(http_headers)
    number = int(protocol)
    address = arguments.text(url, "url", 2, "replace")
    name = arguments.text(model_name, "model_name", 6)
    version = -1 if model_version is None else arguments.signed64(model_version, 7)
    sequence = arguments.unsigned(correlation_id, arguments.UINT64, 8)
    kind = protocol_of(number)
    if streaming and kind == "http":
        raise errors.InferenceServerException("Streaming is only allowed with gRPC protocol")
    sent = headers.parse_headers(http_headers, kind)
    headers.refuse_reserved(sent)
    server = endpoint.parse_url(address, kind)
    session = infer_session.InferSession(
        server, sent, name, version, sequence, bool(streaming), bool(verbose)
    )
    if verbose:
        control.server_status(session, name, next_request_id())
    return session

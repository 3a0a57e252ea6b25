"""CallHeaders and metadata of clients that go on to the v2 server (``--forward-header``)."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from tritonclient_shim.backends.base import CallHeaders


def of_http(headers: Mapping[str, str], names: Iterable[str]) -> CallHeaders:
    """The chosen ones of a request's headers."""
    found = [(name, headers[name]) for name in names if name in headers]
    return tuple(pair for pair in found if _can_be_sent(pair[1]))


def of_grpc(context: Any, names: Iterable[str]) -> CallHeaders:
    """The chosen ones of a call's metadata."""
    if not names:
        return ()
    found = [(name, value) for name, value in context.invocation_metadata() or () if name in names]
    return tuple(pair for pair in found if isinstance(pair[1], bytes) or _can_be_sent(pair[1]))


def _can_be_sent(value: str) -> bool:
    """Both protocols carry printable ASCII; others have their own ideas of the rest."""
    return value.isascii() and value.isprintable()

"""Legacy ``http_headers`` arguments → header name and value pairs (v1 §6.6)."""

from __future__ import annotations

import re
from typing import Any, Tuple

from tritonclient_shim.errors import InferenceServerException
from tritonclient_shim.model import HTTP

Headers = Tuple[Tuple[str, str], ...]

#: Headers that describe the body of a v2 request: a user's value would contradict the body.
_FRAMING = frozenset({"content-length", "transfer-encoding", "inference-header-content-length"})

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_EXPECTED = "expected a list of 'Name:Value' entries, str or bytes"


def parse_headers(http_headers: Any, protocol: str = HTTP) -> Headers:
    """``http_headers`` → (name, value) pairs sorted by name; () for gRPC, which sends none.

    Entries are ``"Name:Value"``, str (1.11 and later) or bytes (before), split at the first
    colon; of two with the same name, in the same case, the last wins; one with an empty value
    is not sent (v1 §6.6). None, [], () and "" are no headers (v1 §2.3).

    Raises InferenceServerException for entries without a name or a colon, and for control
    characters, where v1 ended the process or let the entry add headers of its own.
    """
    if protocol != HTTP or not http_headers:
        return ()
    if isinstance(http_headers, (str, bytes)):
        raise InferenceServerException(
            f"http_headers is a single {type(http_headers).__name__}; {_EXPECTED}"
        )
    pairs = dict(_split(entry) for entry in http_headers)
    return tuple(sorted(pair for pair in pairs.items() if _sent(*pair)))


def refuse_reserved(headers: Headers) -> None:
    """Headers of an InferContext → the same; raises v1's text for ``NV-InferRequest`` (v1 §3.1)."""
    if any(name == "NV-InferRequest" for name, _ in headers):
        raise InferenceServerException("HTTP header 'NV-InferRequest' cannot be set")


def _split(entry: Any) -> tuple[str, str]:
    if not isinstance(entry, (str, bytes)):
        raise InferenceServerException(
            f"HTTP header is of type {type(entry).__name__}; {_EXPECTED}"
        )
    text = entry if isinstance(entry, str) else entry.decode("utf-8", "replace")
    name, colon, value = text.partition(":")
    if not (name.strip() and colon):
        raise InferenceServerException(f"HTTP header {text!r} has no name or no colon; {_EXPECTED}")
    if _CONTROL.search(text):
        raise InferenceServerException(
            f"HTTP header {text!r} contains a control character; remove it"
        )
    return name, value


def _sent(name: str, value: str) -> bool:
    return bool(value.strip()) and name.strip().lower() not in _FRAMING

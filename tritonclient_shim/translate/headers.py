"""Legacy ``http_headers`` arguments → header name and value pairs (docs/v1-behaviour.md §6.6)."""

from __future__ import annotations

import re
from typing import Any, Tuple

from tritonclient_shim.core import texts
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import HTTP

Headers = Tuple[Tuple[str, str], ...]

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_EXPECTED = "expected a list of 'Name:Value' entries, str or bytes"


def parse_headers(http_headers: Any, protocol: str = HTTP) -> Headers:
    """``http_headers`` → (name, value) pairs sorted by name; () for gRPC, which sends none.

    Entries are ``"Name:Value"``, str (1.11 and later) or bytes (before), split at the first
    colon; of two with the same name, in the same case, the last wins; one with an empty value
    is not sent (docs/v1-behaviour.md §6.6). None, [], () and "" are no headers
    (docs/v1-behaviour.md §2.3).

    Raises AttributeError for entries that are no text, InferenceServerException for those
    without a colon or a usable name, and for
    control characters, where v1 ended the process or let an entry smuggle in further headers.
    """
    check_kinds(http_headers)
    if protocol != HTTP or not http_headers:
        return ()
    if isinstance(http_headers, (str, bytes)):
        raise InferenceServerException(
            f"http_headers is a single {type(http_headers).__name__}; {_EXPECTED}"
        )
    pairs = dict(_split(entry) for entry in http_headers)
    return tuple(sorted(pair for pair in pairs.items() if pair[1].strip()))


def refuse_reserved(headers: Headers) -> None:
    """Headers of an InferContext → the same; raises v1's text for ``NV-InferRequest``
    (docs/v1-behaviour.md §3.1).
    """
    if any(name == "NV-InferRequest" for name, _ in headers):
        raise InferenceServerException("HTTP header 'NV-InferRequest' cannot be set")


def check_kinds(http_headers: Any) -> None:
    """Raise AttributeError for an entry that is no text, as v1 did first of all, also for gRPC."""
    if isinstance(http_headers, (str, bytes)):
        return
    for entry in http_headers or ():
        if not isinstance(entry, (str, bytes)):
            raise AttributeError(f"'{type(entry).__name__}' object has no attribute 'encode'")


def _split(entry: Any) -> tuple[str, str]:
    text = texts.whole(entry)
    name, colon, value = text.partition(":")
    if not (colon and _NAME.fullmatch(name.strip())):
        raise InferenceServerException(
            f"HTTP header {_beginning(text)} has no colon, or no usable name before it; {_EXPECTED}"
        )
    if _UNPRINTABLE.search(value):
        raise InferenceServerException(
            f"the value of HTTP header {name.strip()!r} has control characters, perhaps a line "
            "break at its end; remove them"
        )
    return name.strip(), value


def _beginning(text: str) -> str:
    """What an unusable entry begins with, for a message: the rest may be a password or token."""
    name = re.split(r"[:\s]", text.lstrip(), maxsplit=1)[0]
    return repr(name if name == text else f"{name} …")

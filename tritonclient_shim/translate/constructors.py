"""The arguments of every constructor: url, protocol and http_headers
(docs/v1-behaviour.md §1.5, §3.1, §6.6).
"""

from __future__ import annotations

import re
from typing import Any, Tuple

from tritonclient_shim.core import arguments
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import HTTP, PROTOCOLS, Endpoint
from tritonclient_shim.settings.addresses import without_scheme
from tritonclient_shim.settings.values import HEADER_NAME, HEADER_VALUE

#: Names and values, sorted by name. The backend leaves out empty values.
Headers = Tuple[Tuple[str, str], ...]

_BY_NUMBER = {rules.v1_number: protocol for protocol, rules in PROTOCOLS.items()}
_EXPECTED = "expected a list of 'Name:Value' entries, str or bytes"


def parse_url(url: str, protocol: str) -> Endpoint:
    """Return the endpoint of a ``url``, for ``model.HTTP`` or ``model.GRPC``.

    Accept a leading ``http://``, ``https://``, ``grpc://`` or ``grpcs://`` for either protocol;
    those with an s mean TLS. Do not check the host: the backend reports a bad host on the first
    call, as v1 did (docs/v1-behaviour.md §3.1).
    """
    address, secure = without_scheme(url.strip())
    return Endpoint(protocol, address.rstrip("/"), bool(secure))


def protocol_of(number: int) -> str:
    """Return ``model.HTTP`` for 0 and ``model.GRPC`` for 1 (docs/v1-behaviour.md §1.5).

    As for v1's C layer, the number counts modulo 2**32. Raise InferenceServerException for other
    numbers.
    """
    protocol = _BY_NUMBER.get(number & arguments.UINT32)
    if protocol is None:
        raise InferenceServerException(
            "unexpected protocol integer, expecting 0 for HTTP or 1 for gRPC"
        )
    return protocol


def parse_headers(http_headers: Any, protocol: str = HTTP) -> Headers:
    """Return the headers, sorted by name, over HTTP, and none over gRPC.

    Split each entry at its first colon. The last of equal names counts (docs/v1-behaviour.md §6.6).
    None, [], () and "" are no headers (docs/v1-behaviour.md §2.3).

    Raise InferenceServerException for an entry without a colon or a usable name, and for control
    characters: v1 ended the process, or let an entry smuggle in further headers.
    """
    if not PROTOCOLS[protocol].sends_headers or not http_headers:
        return ()
    if isinstance(http_headers, (str, bytes)):
        raise InferenceServerException(
            f"http_headers is a single {type(http_headers).__name__}; {_EXPECTED}"
        )
    return tuple(sorted(dict(map(_split, http_headers)).items()))


def check_headers(http_headers: Any) -> None:
    """Raise AttributeError for an entry that is no text, as v1 did first of all, also for gRPC."""
    if isinstance(http_headers, (str, bytes)):
        return
    for entry in http_headers or ():
        if not isinstance(entry, (str, bytes)):
            raise AttributeError(f"'{type(entry).__name__}' object has no attribute 'encode'")


def _split(entry: Any) -> tuple[str, str]:
    text = arguments.whole(entry)
    name, colon, value = text.partition(":")
    if not (colon and HEADER_NAME.fullmatch(name.strip())):
        beginning = re.split(r"[:\s]", text.lstrip(), maxsplit=1)[0]
        shown = text if beginning == text else f"{beginning} …"  # the rest may be a password
        raise InferenceServerException(
            f"HTTP header {shown!r} has no colon, or no usable name before it; {_EXPECTED}"
        )
    if not HEADER_VALUE.fullmatch(value):
        raise InferenceServerException(
            f"the value of HTTP header {name.strip()!r} has control characters, perhaps a line "
            "break at its end; remove them"
        )
    return name.strip(), value if value.strip() else ""

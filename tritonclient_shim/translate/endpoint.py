"""Legacy ``url`` arguments → endpoints."""

from __future__ import annotations

import re
from typing import Any

from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.translate import arguments

_SCHEME = re.compile(r"(https?|grpcs?)://", re.IGNORECASE)
_SECURE = frozenset({"https", "grpcs"})


def parse_url(url: Any, protocol: str) -> Endpoint:
    """``url`` (str or bytes) and ``model.HTTP`` or ``model.GRPC`` → :class:`Endpoint`.

    A leading ``http://``, ``https://``, ``grpc://`` or ``grpcs://`` is accepted on either
    protocol; those with an s mean TLS. The host is not looked at: the backend reports a bad
    one, as v1 did, on the first call (docs/v1-behaviour.md §3.1). Raises ctypes.ArgumentError for
    anything but text, InferenceServerException for None, where v1 ended the process.
    """
    text = arguments.text(url, "url", 2, "replace").strip()
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Endpoint(protocol, text.rstrip("/"))
    return Endpoint(protocol, text[scheme.end() :].rstrip("/"), scheme[1].lower() in _SECURE)

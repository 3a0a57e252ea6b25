"""Legacy ``url`` arguments → endpoints."""

from __future__ import annotations

from typing import Any

from tritonclient_shim.core.addresses import without_scheme
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.translate import arguments


def parse_url(url: Any, protocol: str) -> Endpoint:
    """``url`` (str or bytes) and ``model.HTTP`` or ``model.GRPC`` → :class:`Endpoint`.

    A leading ``http://``, ``https://``, ``grpc://`` or ``grpcs://`` is accepted on either
    protocol; those with an s mean TLS. The host is not looked at: the backend reports a bad
    one, as v1 did, on the first call (docs/v1-behaviour.md §3.1). Raises ctypes.ArgumentError for
    anything but text, InferenceServerException for None, where v1 ended the process.
    """
    text = arguments.text(url, "url", 2, "replace").strip()
    address, secure = without_scheme(text)
    return Endpoint(protocol, address.rstrip("/"), bool(secure))

"""KServe v2 over HTTP."""

from __future__ import annotations

from typing import Sequence

from tritonclient_shim.backends.http.backend import HttpBackend
from tritonclient_shim.backends.http.connections import usable_headers
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.settings import DEFAULTS, Settings


def open_backend(
    endpoint: Endpoint,
    headers: Sequence[tuple[str, str]] = (),
    settings: Settings = DEFAULTS,
) -> HttpBackend:
    """Return a backend for an HTTP endpoint; nothing is sent before its first use.

    ``headers`` go with every request; the last of equal names wins, and those that describe the
    message itself (Content-Length and the like) are left out (docs/v1-behaviour.md §6.6). They come
    before those of the settings. ValueError when a name or a value cannot be sent.
    """
    return HttpBackend(endpoint, usable_headers([*settings.http_headers, *headers]), settings)

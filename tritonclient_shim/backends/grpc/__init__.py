"""KServe v2 over gRPC: the entry point, free of heavy imports."""

from __future__ import annotations

from typing import Sequence

from tritonclient_shim.backends.base import StreamingBackend
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.settings import DEFAULTS, Settings

_MISSING = (
    "gRPC needs the grpc part of tritonclient, which is not installed here; "
    "run: pip install 'tritonclient[grpc]'"
)


def open_backend(
    endpoint: Endpoint,
    headers: Sequence[tuple[str, str]] = (),
    settings: Settings = DEFAULTS,
) -> StreamingBackend:
    """Return a backend for ``endpoint``; contacts nobody before its first call.

    ``headers`` are ignored: v1 sent none over gRPC (docs/v1-behaviour.md §6.6). Raises ImportError
    where tritonclient was installed without its grpc part, SettingsError when a file cannot be
    read.
    """
    del headers
    try:
        from tritonclient_shim.backends.grpc.backend import GrpcBackend, connector_for
    except (ImportError, RuntimeError) as missing:  # tritonclient turns one into the other
        raise ImportError(_MISSING) from missing
    return GrpcBackend(endpoint, connector_for(endpoint, settings).connect)

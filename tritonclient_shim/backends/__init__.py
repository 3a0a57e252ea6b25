"""The two protocols: everything that imports tritonclient to talk to a server.

``in_process`` stands in for both where a test serves its models inside the process.
"""

from __future__ import annotations

from typing import Callable, Sequence

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.model import HTTP, Endpoint
from tritonclient_shim.settings import Proxy, Settings, current, grpc_proxy_for
from tritonclient_shim.settings.addresses import parse
from tritonclient_shim.settings.values import rewritten

#: What is served inside this process: protocol and address → what opens a backend on it.
_in_process: dict[tuple[str, str], Callable[[Endpoint], Backend]] = {}


def serve(endpoint: Endpoint, opened: Callable[[Endpoint], Backend]) -> None:
    """Have ``open_backend`` call ``opened`` for this endpoint, with or without TLS.

    ValueError where something else is served there.
    """
    if _in_process.setdefault((endpoint.protocol, endpoint.address), opened) is not opened:
        raise ValueError(
            f"there is a server at {endpoint.address!r} over {endpoint.protocol} already; end it "
            "first, or choose another address"
        )


def end(endpoint: Endpoint) -> None:
    """Serve this endpoint no longer."""
    _in_process.pop((endpoint.protocol, endpoint.address), None)


_NO_GRPC = (
    "gRPC needs the grpc part of tritonclient, which is not installed here; "
    "run: pip install 'tritonclient[grpc]'"
)


def open_backend(
    endpoint: Endpoint,
    headers: Sequence[tuple[str, str]] = (),
    settings: Settings | None = None,
) -> Backend:
    """Open the endpoint's protocol; its client library is imported by the first endpoint.

    ``headers`` go with every HTTP request, after those of the settings; the last of equal names
    wins. gRPC sends none (docs/v1-behaviour.md §6.6). Without ``settings`` the present ones count.
    Nothing is sent yet. Raises SettingsError when a setting cannot be used, ValueError when a
    header cannot be sent, and ImportError without the library of the protocol.
    """
    chosen = current() if settings is None else settings
    effective = effective_endpoint(endpoint, chosen)
    served = _in_process.get((effective.protocol, effective.address)) if _in_process else None
    if served is not None:
        return served(effective)
    if endpoint.protocol == HTTP:
        from tritonclient_shim.backends.http.backend import HttpBackend

        return HttpBackend(effective, headers, chosen)
    try:
        from tritonclient_shim.backends.grpc.backend import GrpcBackend, connector_for
    except (ImportError, RuntimeError) as missing:  # tritonclient turns one into the other
        raise ImportError(_NO_GRPC) from missing
    return GrpcBackend(effective, connector_for(effective, chosen).connect)


def proxy_of(endpoint: Endpoint, settings: Settings) -> Proxy | None:
    """Return the proxy that leads to an endpoint; SettingsError for an unsupported kind."""
    effective = effective_endpoint(endpoint, settings)
    if endpoint.protocol == HTTP:
        from tritonclient_shim.backends.http import connector

        return connector.proxy_of(effective)
    if dict(settings.grpc_channel_arguments).get("grpc.enable_http_proxy") == 0:
        return None
    address = parse(effective.address)
    return grpc_proxy_for(address.host if address else effective.address)


def effective_endpoint(endpoint: Endpoint, settings: Settings) -> Endpoint:
    """Return the endpoint that the settings put in the place of one that a script names."""
    address, with_tls = rewritten(settings.rewrite_addresses, endpoint.address)
    secure = endpoint.secure if with_tls is None else with_tls
    secure = {"on": True, "off": False}.get(settings.tls, secure)
    return Endpoint(endpoint.protocol, address, secure)

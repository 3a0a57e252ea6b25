"""The two protocols: everything that imports tritonclient to talk to a server.

``in_process`` stands in for both where a test serves its models inside the process.
"""

from __future__ import annotations

from importlib import import_module
from typing import Callable

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.model import Endpoint
from tritonclient_shim.settings import Settings, current
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


def open_backend(
    endpoint: Endpoint,
    headers: tuple[tuple[str, str], ...] = (),
    settings: Settings | None = None,
) -> Backend:
    """Open the endpoint's protocol; its client library is imported by the first endpoint.

    ``headers`` go with every HTTP request; gRPC sends none (docs/v1-behaviour.md §6.6).
    Without ``settings`` the present ones count. Nothing is sent yet. Raises SettingsError when a
    setting cannot be used.
    """
    chosen = current() if settings is None else settings
    effective = effective_endpoint(endpoint, chosen)
    served = _in_process.get((effective.protocol, effective.address)) if _in_process else None
    if served is not None:
        return served(effective)
    opener = import_module(f"{__name__}.{endpoint.protocol}").open_backend
    backend: Backend = opener(effective, headers, chosen)
    return backend


def effective_endpoint(endpoint: Endpoint, settings: Settings) -> Endpoint:
    """Return the endpoint that the settings put in the place of one that a script names."""
    address, with_tls = rewritten(settings.rewrite_addresses, endpoint.address)
    secure = endpoint.secure if with_tls is None else with_tls
    secure = {"on": True, "off": False}.get(settings.tls, secure)
    return Endpoint(endpoint.protocol, address, secure)

"""The two protocols: everything that imports tritonclient to talk to a server."""

from __future__ import annotations

import importlib
from typing import cast

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.model import GRPC, HTTP, Endpoint

_MODULES = {HTTP: "tritonclient_shim.backends.http", GRPC: "tritonclient_shim.backends.grpc"}


def open_backend(endpoint: Endpoint, headers: tuple[tuple[str, str], ...] = ()) -> Backend:
    """Open the endpoint's protocol; its client library is imported by the first endpoint.

    ``headers`` go with every HTTP request; gRPC sends none (v1 §6.6). Nothing is sent yet.
    """
    module = importlib.import_module(_MODULES[endpoint.protocol])
    return cast(Backend, module.open_backend(endpoint, headers))

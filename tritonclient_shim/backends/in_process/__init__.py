"""A server inside this process, whose models are Python functions, for users' unit tests.

It stands behind the same protocol as the two others (``backends/base.py``), and the same contract
suite holds its answers against Triton's. ``tritonclient_shim.testing`` is what users see of it.
"""

from __future__ import annotations

from tritonclient_shim.backends.base import StreamingBackend
from tritonclient_shim.backends.in_process.backend import InProcessBackend
from tritonclient_shim.backends.in_process.declared import Model, Sequence, ServerError, Tensor
from tritonclient_shim.backends.in_process.server import InProcessServer
from tritonclient_shim.core.model import Endpoint

__all__ = ["InProcessServer", "Model", "Sequence", "ServerError", "Tensor", "open_backend"]


def open_backend(endpoint: Endpoint, server: InProcessServer) -> StreamingBackend:
    """Return a backend for a server of this process, whichever protocol the endpoint names."""
    return InProcessBackend(endpoint, server)

"""A server inside this process, whose models are Python functions, for users' unit tests.

It stands behind the same protocol as the two others (``backends/base.py``), and the same contract
suite holds its answers against Triton's. ``tritonclient_shim.testing`` is what users see of it.
"""

from __future__ import annotations

from tritonclient_shim.backends.in_process.backend import InProcessBackend
from tritonclient_shim.backends.in_process.declared import Model, Sequence, ServerError, Tensor
from tritonclient_shim.backends.in_process.server import InProcessServer

__all__ = ["InProcessBackend", "InProcessServer", "Model", "Sequence", "ServerError", "Tensor"]

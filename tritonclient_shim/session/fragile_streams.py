"""Streams of servers that must not be asked there for a model that they do not have.

Triton 2.33 ends with a segmentation fault when a request on a stream names a model or a version
that it does not have; 2.39 refuses it (docs/servers.md).
"""

from __future__ import annotations

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import Fault
from tritonclient_shim.core.metadata import MODEL_CONFIGURATION, ServerMetadata
from tritonclient_shim.core.model import InferCall

#: The first release that is known to refuse such a request.
_SAFE = (2, 39)


def is_fragile(backend: Backend) -> bool:
    """Does the server end at such a request? It is asked once per connection."""
    server = backend.known_server()
    if server.fragile_streams is None:
        try:
            told = backend.server_metadata()
        except Fault:  # the stream will tell what is wrong, if anything is
            return False
        server = backend.known_server()
        server.fragile_streams = _is_fragile(told)
    return server.fragile_streams


def _is_fragile(server: ServerMetadata) -> bool:
    return MODEL_CONFIGURATION in server.extensions and (2,) <= server.release < _SAFE


class CheckedModels:
    """The models and versions that a fragile server is known to have; for one stream."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: set[tuple[str, str]] = set()

    def has(self, call: InferCall) -> bool:
        """Has the server been asked for the model of this call?"""
        return (call.model_name, call.model_version) in self._known

    def ask(self, call: InferCall) -> None:
        """Ask the server for the model; ServerFault, as on a stream, when it does not have it."""
        self._backend.model_config(call.model_name, call.model_version)
        self._known.add((call.model_name, call.model_version))

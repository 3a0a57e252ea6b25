"""Which dialect a server has: one table, read once per connection.

Triton is asked for a model's configuration, and nothing more. A server that refuses to have
configurations is asked for its metadata. Then the first row of :data:`DIALECTS` that fits decides.
"""

from __future__ import annotations

from typing import Callable, Protocol

from tritonclient_shim.core.errors import BackendError, ServerError
from tritonclient_shim.core.model import ServerMetadata
from tritonclient_shim.servers import open_servers, triton
from tritonclient_shim.servers.base import Dialect, ModelProfile, ModelSource
from tritonclient_shim.servers.known import KnownServer
from tritonclient_shim.servers.triton_sentences import Meaning, recognise
from tritonclient_shim.settings.models import DeclaredModel

#: A row per kind of server: the dialect of a server with these metadata; None for another kind.
DIALECTS: tuple[Callable[[ServerMetadata], Dialect | None], ...] = (
    triton.dialect_of,
    open_servers.dialect_of,
)

#: How a server refuses a path or a call that it does not have, if it words a refusal.
_REFUSED = frozenset(("NOT_FOUND", "UNIMPLEMENTED", "INVALID_ARGUMENT"))
_OF_TRITON = (Meaning.UNKNOWN_MODEL, Meaning.NOT_LOADED)
_STANDARD = Dialect()


class Server(ModelSource, Protocol):
    """A server that remembers its dialect; a backend is one."""

    def known_server(self) -> KnownServer:
        """Return what is known of the server behind the connection."""


def dialect_of(server: ServerMetadata) -> Dialect:
    """Return the dialect of a server with these metadata, the standard's if no row fits."""
    return _row_of(server) or _STANDARD


def _row_of(server: ServerMetadata) -> Dialect | None:
    for dialect_of_kind in DIALECTS:
        dialect = dialect_of_kind(server)
        if dialect is not None:
            return dialect
    return None


def describe(
    server: Server, name: str, declared: DeclaredModel
) -> tuple[ModelProfile, KnownServer]:
    """Ask for a model's profile as if nothing were known of the server. Raise BackendError.

    Return also what is known of the server that has the model. It remembers the dialect.
    """
    try:
        profile = triton.TRITON.describe(server, name, declared)
    except BackendError as error:
        dialect = _dialect_instead(server, error)
        known_server = server.known_server()
        known_server.learn(dialect)
        return dialect.describe(server, name, declared), known_server
    known_server = server.known_server()
    known_server.learn(triton.TRITON)
    return profile, known_server


def _dialect_instead(server: ModelSource, error: BackendError) -> Dialect:
    """Return the dialect of a server that refused a model's configuration with ``error``.

    Raise that error if the server has configurations, or none of the dialects.
    """
    refused = isinstance(error, ServerError) and error.code in _REFUSED
    if not error.no_such_call and (not refused or recognise(str(error), _OF_TRITON) is not None):
        raise error
    try:
        metadata = server.server_metadata()
    except BackendError:
        raise error from None
    dialect = _row_of(metadata)
    if dialect is None or dialect is triton.TRITON:
        raise error
    return dialect

"""Triton's dialect: models have configurations, and replies are as they say."""

from __future__ import annotations

from dataclasses import replace

from tritonclient_shim.core.errors import InvalidRequest
from tritonclient_shim.core.model import ServerMetadata
from tritonclient_shim.core.reading import read
from tritonclient_shim.servers.base import (
    MODEL_CONFIGURATION,
    Dialect,
    ModelProfile,
    ModelSource,
)
from tritonclient_shim.servers.configuration import to_profile
from tritonclient_shim.settings.models import DeclaredModel

#: Triton 2.33 ends with a segmentation fault when a request on a stream names a model or a version
#: that it does not have. This is the first release that is known to refuse it (docs/servers.md).
_WITHOUT_CRASH = (2, 39)
#: The first Triton that adds the offset of a region once.
_OFFSETS_ONCE = (2, 61)


class Triton(Dialect):
    """A server with model configurations."""

    def describe(self, source: ModelSource, name: str, declared: DeclaredModel) -> ModelProfile:
        """Ask for the configuration of a model, and return its profile. Raise BackendError."""
        profile = read(to_profile, name, source.model_config(name))
        return replace(profile, dialect=self, labels=declared.labels())

    def ends_at_unknown_models(self, server: ServerMetadata) -> bool:
        """True if the server ends when a request on a stream names an unknown model."""
        return (2,) <= server.release < _WITHOUT_CRASH

    def check_offset(self, server: ServerMetadata, name: str, byte_size: int, offset: int) -> None:
        """Refuse an offset that the server would add twice: inference would read other bytes, or
        memory behind the region, without an error (docs/v2-mapping.md §8).
        """
        if not server.release or server.release >= _OFFSETS_ONCE:
            return
        raise InvalidRequest(
            f"cannot register shared memory region '{name}' at offset {offset}: this server, "
            f"Triton {server.version}, would read and write at twice that offset. Register the "
            f"object from its beginning, with offset 0 and byte size {offset + byte_size}, and "
            f"add {offset} to the offset of each input and output in it; or use Triton "
            f"{_OFFSETS_ONCE[0]}.{_OFFSETS_ONCE[1]} or later",
            "UNIMPLEMENTED",
        )


TRITON = Triton()


def dialect_of(server: ServerMetadata) -> Dialect | None:
    """Return Triton's dialect for a server that lists model configurations."""
    return TRITON if MODEL_CONFIGURATION in server.extensions else None

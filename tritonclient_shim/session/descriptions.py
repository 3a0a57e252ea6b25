"""What a server without model configurations tells of its models instead.

KServe v2 without Triton's extensions is the Open Inference Protocol. Whether a server has model
configurations shows when it is asked for one: so nothing more is ever asked of Triton.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from tritonclient_shim.backends.base import Backend
from tritonclient_shim.core.errors import Fault, ForeignFault, Refusal, ServerFault
from tritonclient_shim.core.metadata import (
    MODEL_CONFIGURATION,
    Capabilities,
    ServerMetadata,
    capabilities_of,
)
from tritonclient_shim.core.model import ModelConfigDocument, ModelProfile
from tritonclient_shim.core.reading import read
from tritonclient_shim.core.server_sentences import Meaning, recognise
from tritonclient_shim.settings import Settings
from tritonclient_shim.settings.models import DeclaredModel
from tritonclient_shim.translate import from_metadata

#: How a server refuses a path or a call that it does not have, if it words a refusal.
_REFUSED = frozenset(("NOT_FOUND", "UNIMPLEMENTED", "INVALID_ARGUMENT"))
_OF_TRITON = (Meaning.UNKNOWN_MODEL, Meaning.NOT_LOADED)


def capabilities_instead(backend: Backend, fault: Fault) -> Capabilities:
    """What the server can do, after the configuration of a model was refused with ``fault``.

    Raises Fault: the same where the server has configurations, or is none of this protocol.
    """
    if not _may_lack_configurations(fault):
        raise fault
    try:
        metadata = backend.server_metadata()
    except Fault:
        raise fault from None
    if MODEL_CONFIGURATION in metadata.extensions:
        raise fault
    return capabilities_of(metadata)


def profile_instead(
    backend: Backend, name: str, server: Capabilities, declared: DeclaredModel | None
) -> ModelProfile:
    """The profile by a model's metadata, on a server without configurations. Raises Fault."""
    try:
        found = backend.model_metadata(name)
    except ForeignFault as unknown:
        if not unknown.no_such_call:
            raise
        # the HTTP framework refuses a path that no model's name makes, as with a slash in it
        raise ServerFault(f"model '{name}' is not found", "NOT_FOUND") from unknown
    return read(from_metadata.profile_of, name, found, server, declared)


def _may_lack_configurations(fault: Fault) -> bool:
    if fault.no_such_call:
        return True
    if not isinstance(fault, ServerFault) or fault.code not in _REFUSED:
        return False
    return recognise(fault.message, _OF_TRITON) is None


def documents(
    backend: Backend, server: ServerMetadata, names: Sequence[str], settings: Settings
) -> Mapping[str, ModelConfigDocument]:
    """The configurations of several models, or what their metadata tell in their place.

    Models that the server refuses to describe are left out.
    """
    try:
        found = backend.model_configs(names)
    except Fault as fault:
        if not fault.no_such_call:
            raise
        found = {}
    if found or MODEL_CONFIGURATION in server.extensions:
        return found
    instead = {}
    for name in names:
        try:
            metadata = backend.model_metadata(name)
        except Fault as fault:
            if isinstance(fault, ServerFault) or fault.no_such_call:
                continue
            raise
        declared = settings.declared(name) or DeclaredModel(name)
        instead[name] = read(from_metadata.document_of, metadata, declared)
    return instead


def lacking(backend: Backend, fault: Fault, extension: str, remedy: str) -> Fault:
    """A call that failed → the refusal that names the extension it needs, if that is missing."""
    if not fault.no_such_call:
        return fault
    try:
        metadata = backend.server_metadata()
    except Fault:
        return fault
    server = capabilities_of(metadata).server
    return Refusal(
        f"this call needs a server with the extension {extension}, and the server '{server}' has "
        f"no such call over {backend.endpoint.protocol}; expected one that has it: {remedy}",
        "UNIMPLEMENTED",
    )

"""What a server must not be asked for without the capability: it would answer wrongly.

Servers without Triton's extensions ignore what they do not know. A request of a sequence would be
answered as if it stood alone, and one for a version by whichever version there is.
"""

from __future__ import annotations

from tritonclient_shim.core.errors import Refusal
from tritonclient_shim.core.metadata import SEQUENCE, Capabilities
from tritonclient_shim.core.model import ModelProfile, V1Request

_TRITON = "use a Triton server for it"


def check_capabilities(profile: ModelProfile, request: V1Request) -> None:
    """Raise Refusal for a request that needs what the model's server does not have."""
    server = profile.server
    check_context(profile, request.model_version, request.correlation_id)
    if request.flags and not server.sequences:
        raise _missing(server, f"flags={request.flags}", SEQUENCE, "pass flags=0, or")
    if server.regions:
        return
    if any(item.shm for item in request.inputs) or any(item.shm for item in request.outputs):
        raise _missing(server, "shared memory", "system_shared_memory", "pass arrays, or")


def check_context(
    profile: ModelProfile, version: int, correlation_id: int, streaming: bool = False
) -> None:
    """Raise Refusal for a context, or a request, that the model's server would misunderstand."""
    server = profile.server
    if streaming and not server.streams:
        raise _no_streams(server)
    if correlation_id and not server.sequences:
        wanted = f"correlation_id={correlation_id}"
        raise _missing(server, wanted, SEQUENCE, "leave the correlation id out, or")
    if version != -1 and not server.versions:
        raise Refusal(
            f"model '{profile.name}' is asked for in version {version}, but the server "
            f"'{server.server}' has no model versions and would answer with the only one; "
            "expected -1, the latest: leave the version out",
            "UNIMPLEMENTED",
        )


def _no_streams(server: Capabilities) -> Refusal:
    return Refusal(
        f"streaming=True needs a server with ModelStreamInfer, which the server '{server.server}' "
        "does not have in the form of KServe v2; expected a Triton server: leave streaming out, "
        "or use one",
        "UNIMPLEMENTED",
    )


def _missing(server: Capabilities, wanted: str, extension: str, remedy: str) -> Refusal:
    return Refusal(
        f"{wanted} needs the extension {extension}, and the server '{server.server}' does not have "
        f"it and would ignore the wish; expected a server that has it: {remedy} {_TRITON}",
        "UNIMPLEMENTED",
    )

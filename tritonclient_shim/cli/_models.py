"""The models of a server, for ``migrate --server``."""

from __future__ import annotations

from tritonclient_shim.cli import Refused
from tritonclient_shim.cli._server import reason_of
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import PROTOCOLS
from tritonclient_shim.core.reading import read
from tritonclient_shim.servers.base import ModelProfile
from tritonclient_shim.servers.configuration import to_profile
from tritonclient_shim.session.server import ServerSession
from tritonclient_shim.settings.addresses import without_user
from tritonclient_shim.translate.constructors import parse_url


def models_of(server: str) -> dict[str, ModelProfile]:
    """Return the ready models of a server by name. Ask over the protocol that answers."""
    reasons = []
    for protocol in PROTOCOLS:
        try:
            session = ServerSession(parse_url(server, protocol))
            with session.guard(no_status_text="no v2 inference server answers"):
                rows = session.backend.repository_index()
                ready = sorted({row.name for row in rows if row.state == "READY"})
                documents = session.backend.model_configs(ready)
                return {name: read(to_profile, name, item) for name, item in documents.items()}
        except (InferenceServerException, ValueError) as error:
            reasons.append(f"over {protocol} {reason_of(error)}")
    shown = without_user(server)
    raise Refused(f"--server {shown}: {'; '.join(reasons)}; expected HOST:PORT of a Triton server")

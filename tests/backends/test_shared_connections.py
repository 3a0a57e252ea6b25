"""The settings that separate shared connections (docs/settings.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Mapping

import pytest

from tests.certificates import Authority
from tritonclient_shim.backends.grpc import backend
from tritonclient_shim.backends.http import connector
from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.settings import DEFAULTS, FIELDS, SECURE, Settings
from tritonclient_shim.settings.models import DeclaredModel

CONNECTOR_FOR: Mapping[str, Callable[[Endpoint, Settings], Any]] = {
    HTTP: connector.connector_for,
    GRPC: backend.connector_for,
}
ENDPOINTS = [
    Endpoint(protocol, "h:1", secure) for protocol in CONNECTOR_FOR for secure in (False, True)
]


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return a value for each setting that is not its default."""
    authority = Authority(tmp_path_factory.mktemp("pem"))
    own = authority.issue("client.test")
    return {
        "rewrite_addresses": (("a:1", "b:2"),),
        "tls": "on",
        "root_certificates": authority.roots,
        "client_key": own.key,
        "client_certificate": own.certificate,
        "connect_timeout": 3.0,
        "network_timeout": 3.0,
        "keepalive_time": 3.0,
        "keepalive_timeout": 3.0,
        "http_headers": (("A", "1"),),
        "grpc_metadata": (("a", "1"),),
        "grpc_channel_arguments": (("grpc.a", 1),),
        "models": (("m", DeclaredModel("m")),),
    }


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=str)
@pytest.mark.parametrize("name", FIELDS)
def test_connections_are_of_their_settings(
    name: str, endpoint: Endpoint, others: dict[str, Any]
) -> None:
    """A setting's value separates connections exactly if its declaration says so."""
    connector_for = CONNECTOR_FOR[endpoint.protocol]
    changed = connector_for(endpoint, Settings(**{name: others[name]}))
    declared = FIELDS[name].metadata["of"]
    matters = endpoint.protocol in declared or (endpoint.secure and SECURE in declared)
    assert (changed == connector_for(endpoint, DEFAULTS)) is not matters
    assert changed == connector_for(endpoint, Settings(**{name: others[name]}))


def test_files_count_by_their_content(tmp_path: Path) -> None:
    """New certificates in a file of one name make new connections."""
    roots = tmp_path / "roots.pem"
    folders = [tmp_path / name for name in ("one", "other")]
    for protocol, connector_for in CONNECTOR_FOR.items():
        connectors = []
        for folder in folders:
            folder.mkdir(exist_ok=True)
            roots.write_bytes(Path(Authority(folder).roots).read_bytes())
            settings = Settings(root_certificates=str(roots))
            connectors.append(connector_for(Endpoint(protocol, "h:1", True), settings))
        assert connectors[0] != connectors[1]

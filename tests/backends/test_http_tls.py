"""HTTPS: verified connections, and libcurl's texts for connections that are not."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Iterator

import numpy as np
import pytest

from tests.backends.scripted_server import ScriptedServer, http
from tests.certificates import Authority
from tritonclient_shim.backends.http import open_backend
from tritonclient_shim.core.model import Endpoint, InferCall, TensorIn

REPLY = http(200, b'{"model_name": "m", "outputs": []}')


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Return a certificate authority that is not trusted yet."""
    return Authority(tmp_path)


@pytest.fixture
def secure_server(authority: Authority) -> Iterator[ScriptedServer]:
    """Yield a server with a certificate of this authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("localhost", "127.0.0.1"))
    with ScriptedServer(lambda request: REPLY, context=context) as server:
        yield server


def test_trusted_server(
    secure_server: ScriptedServer, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a trusted certificate everything works, large tensors included."""
    monkeypatch.setenv("SSL_CERT_FILE", authority.roots)
    backend = open_backend(Endpoint("http", secure_server.address, secure=True))
    content = np.arange(100_000, dtype=np.float32)
    value = TensorIn("x", "FP32", content.shape, (content,), content.nbytes)
    assert backend.infer(InferCall("m", "", (value,), ())).model_name == "m"
    assert backend.live()
    assert secure_server.requests[0].endswith(content.tobytes())
    assert secure_server.connections == 1
    backend.close()

"""TLS ended by nginx in front of a real server's HTTP port, as people run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, ServerHealthContext
from tests.certificates import Authority, Identity
from tests.server.infer_cases import BOTH, SUM, add_sub
from tests.server.nginx import nginx
from tritonclient_shim import configure

SERVER = """
    ssl_certificate {certificate}; ssl_certificate_key {key};
    ssl_client_certificate {roots}; ssl_verify_client optional;
    location / {{
      if ($ssl_client_verify != SUCCESS) {{ return 403; }}
      proxy_pass http://{target}; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
"""


def live(url: str, protocol: int) -> bool:
    """Ask for the health of a server."""
    with ServerHealthContext(url, protocol) as context:
        return context.is_live()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Signs the certificates of nginx and of its client."""
    return Authority(tmp_path)


@pytest.fixture
def client(authority: Authority) -> Identity:
    """Return a client's certificate."""
    return authority.issue("client.test")


@pytest.fixture
def proxy(authority: Authority, start_triton: Any, tmp_path: Path) -> Iterator[str]:
    """Yield the address of an nginx that ends a server's TLS and demands a certificate."""
    certificate, key = authority.issue("127.0.0.1")
    target = start_triton(["simple"]).http
    server = SERVER.format(certificate=certificate, key=key, roots=authority.roots, target=target)
    with nginx(tmp_path, server, listen=" ssl") as address:
        yield address


def test_nginx(proxy: str, authority: Authority, client: Identity) -> None:
    """Certificates of both sides, kept connections, and a refusal without a certificate."""
    configure(
        root_certificates=authority.roots,
        client_certificate=client.certificate,
        client_key=client.key,
        rewrite_addresses={"localhost:8000": f"https://{proxy}"},
    )
    assert live("localhost:8000", 0)
    with InferContext("localhost:8000", 0, "simple") as context:
        results = context.run(add_sub(8), BOTH, 8)
    assert [array.tolist() for array in results["OUTPUT0"]] == [SUM] * 8
    assert np.array_equal(results["OUTPUT1"][7], np.zeros(16))
    configure(client_certificate=None, client_key=None)
    assert not live("localhost:8000", 0)

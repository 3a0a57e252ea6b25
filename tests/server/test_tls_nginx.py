"""TLS ended by nginx in front of a real server's HTTP port, as people run it."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import pytest

from tensorrtserver.api import InferContext, InferenceServerException, ServerHealthContext
from testbed.process import free_ports
from tests.certificates import Authority, Identity
from tests.server.infer_cases import BOTH, SUM, add_sub
from tritonclient_shim import configure

pytest_plugins = ["tests.settings_fixtures"]

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off; client_max_body_size 0; client_body_temp_path {folder};
  proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder};
  scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    ssl_client_certificate {roots}; ssl_verify_client optional;
    location / {{
      if ($ssl_client_verify != SUCCESS) {{ return 403; }}
      proxy_pass http://{target}; proxy_http_version 1.1; proxy_set_header Connection "";
    }}
  }}
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
    """A client's certificate."""
    return authority.issue("client.test")


@pytest.fixture
def nginx(authority: Authority, start_triton: Any, tmp_path: Path) -> Iterator[str]:
    """The address of an nginx that ends TLS in front of a server and demands a certificate."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        pytest.skip("nginx is not installed (apt-get install nginx-light)")
    certificate, key = authority.issue("127.0.0.1")
    port, target = free_ports()[0], start_triton(["simple"]).http
    places = {"certificate": certificate, "key": key, "roots": authority.roots, "port": port}
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, target=target, **places))
    process = subprocess.Popen([program, "-p", str(tmp_path), "-c", str(config)])
    try:
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def test_nginx(nginx: str, authority: Authority, client: Identity) -> None:
    """Certificates of both sides, kept connections, and a refusal without a certificate."""
    configure(
        root_certificates=authority.roots,
        client_certificate=client.certificate,
        client_key=client.key,
        rewrite_addresses={"localhost:8000": f"https://{nginx}"},
    )
    wait_for(lambda: live("localhost:8000", 0))
    with InferContext("localhost:8000", 0, "simple") as context:
        results = context.run(add_sub(8), BOTH, 8)
    assert [array.tolist() for array in results["OUTPUT0"]] == [SUM] * 8
    assert np.array_equal(results["OUTPUT1"][7], np.zeros(16))
    configure(client_certificate=None, client_key=None)
    assert not live("localhost:8000", 0)


def wait_for(condition: Callable[[], bool]) -> None:
    """Until a process that has just been started listens."""
    for _ in range(200):
        try:
            if condition():
                return
        except InferenceServerException:
            pass
        threading.Event().wait(0.05)
    raise AssertionError("nginx does not answer")

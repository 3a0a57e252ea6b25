"""The proxies of ``deploy/`` in front of two gateways, at ports of this run."""

from __future__ import annotations

import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple

import pytest

from testbed.foreign_programs import envoy
from testbed.process import free_ports
from testbed.progress import MissingPrerequisite
from tests.gateway.gateway_process import ROOT, ask, until
from tests.nginx import nginx

DEPLOY = ROOT / "deploy"


class Front(NamedTuple):
    """The addresses of a proxy."""

    http: str
    grpc: str


#: The limit of requests to the gateways at one time, in the files of ``deploy/``.
LIMIT = "4096"
#: The time limits of clients in the files of ``deploy/``.
CLIENT_TIMES = re.compile(
    "(client_(?:header|body)_timeout|request(?:_headers)?_timeout:) (?:30|600)s"
)


def configuration(name: str, pair: Any, limit: int | None, client_time: str) -> tuple[str, Front]:
    """Return a file of ``deploy/`` with the ports of this run, and the proxy's addresses.

    ``limit`` replaces :data:`LIMIT`, and ``client_time`` the time limits of clients.
    """
    front = free_ports()[0], free_ports()[0]
    ports = dict(zip(("8000", "8001"), front))
    ports.update(zip(("9000", "9100", "9001", "9101"), (*pair.http, *pair.grpc)))
    text = _with_ports((DEPLOY / name).read_text("utf-8"), ports)
    assert text.count(f" {LIMIT}") == 1
    text = text.replace(f" {LIMIT}", f" {limit or LIMIT}")
    if client_time:
        text, count = CLIENT_TIMES.subn(rf"\1 {client_time}", text)
        assert count == 2
    return text, Front(*(f"127.0.0.1:{port}" for port in front))


def _with_ports(text: str, ports: Mapping[str, int]) -> str:
    pattern = re.compile(rf"(listen |_value: |127\.0\.0\.1:)({'|'.join(ports)})\b")
    with_ports, count = pattern.subn(lambda match: f"{match[1]}{ports[match[2]]}", text)
    assert count >= len(ports)
    return with_ports


def is_reachable(address: str) -> bool:
    """True if a gateway behind an address is live."""
    try:
        return ask(address, "GET", "/api/health/live").code == 200
    except OSError:
        return False


@contextmanager
def behind_nginx(
    folder: Path, pair: Any, limit: int | None = None, client_time: str = ""
) -> Iterator[Front]:
    """Start an nginx with ``deploy/nginx.conf``."""
    text, front = configuration("nginx.conf", pair, limit, client_time)
    with nginx(folder, "return 404;", http=text):
        yield front


@contextmanager
def behind_envoy(
    folder: Path, pair: Any, limit: int | None = None, client_time: str = ""
) -> Iterator[Front]:
    """Start an Envoy with ``deploy/envoy.yaml``, and two threads for its work."""
    try:
        program = envoy()
    except MissingPrerequisite as reason:
        pytest.skip(str(reason))
    text, front = configuration("envoy.yaml", pair, limit, client_time)
    (folder / "envoy.yaml").write_text(text)
    options = ["--concurrency", "2", "--disable-hot-restart", "--log-level", "warn"]
    command = [program, "-c", str(folder / "envoy.yaml"), *options]
    with open(folder / "envoy.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until(lambda: is_reachable(front.http) or process.poll() is not None)
        assert process.poll() is None, (folder / "envoy.log").read_text("utf-8")
        yield front
    finally:
        process.terminate()
        process.wait()

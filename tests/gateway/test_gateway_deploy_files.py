"""The files of ``deploy/`` name options that the gateway has, and fit together."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.gateway.front_proxies import DEPLOY
from tests.gateway.gateway_process import ROOT, Gateway, StartGateway
from tritonclient_shim.cli import _parser
from tritonclient_shim.gateway.options import OPTIONS, options_from

UNIT = "tritonclient-shim-gateway@.service"


class Deployment(NamedTuple):
    """A file's arguments for the gateway, and the seconds that the gateway has to stop."""

    arguments: list[str]
    stop: float


def yaml(name: str) -> list[Any]:
    """Return the documents of a file."""
    reader = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return [*reader.safe_load_all((DEPLOY / name).read_text("utf-8"))]


def compose() -> Deployment:
    """Read compose.yaml."""
    (document,) = yaml("compose.yaml")
    service = document["services"]["gateway"]
    return Deployment(service["command"], float(service["stop_grace_period"].rstrip("s")))


def kubernetes() -> Deployment:
    """Read kubernetes.yaml. Triton's wait before its stop is the gateway's time to stop."""
    gateway, triton = pod()["containers"]
    (_, wait) = triton["lifecycle"]["preStop"]["exec"]["command"]
    return Deployment(gateway["args"], float(wait))


def pod() -> Any:
    """Return the specification of a pod."""
    return yaml("kubernetes.yaml")[0]["spec"]["template"]["spec"]


def unit() -> Deployment:
    """Read the unit of systemd, with the variables that it sets."""
    text = (DEPLOY / UNIT).read_text("utf-8").replace("\\\n", " ").replace("%i", "800")
    for name, value in re.findall(r"^Environment=([A-Z]+_[A-Z]+)=(\S+)$", text, re.M):
        text = text.replace(f"${{{name}}}", value)
    (command,) = re.findall(r"^ExecStart=\S+ gateway (.*)$", text, re.M)
    (stop,) = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.M)
    return Deployment(shlex.split(command), float(stop))


def container() -> Deployment:
    """Read the command in the first comment of Containerfile."""
    text = (DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n#", " ")
    pattern = r"docker run --stop-timeout (\d+) .* tritonclient-shim-gateway (.*)$"
    ((stop, command),) = re.findall(pattern, text, re.M)
    return Deployment(shlex.split(command), float(stop))


def parsed(arguments: list[str]) -> Any:
    """Return the options as the command reads them. Raise SystemExit for unknown options."""
    values = vars(_parser().parse_args(["gateway", *arguments]))
    return options_from({name: text for name, text in values.items() if name in OPTIONS})


@pytest.mark.parametrize("read", [compose, kubernetes, unit, container])
def test_options(read: Any) -> None:
    """Each file starts the gateway on v1's ports, and gives it the time that a stop takes."""
    deployment = read()
    options = parsed(deployment.arguments)
    assert (options.http.port, options.grpc.port) == (8000, 8001)
    assert deployment.stop >= options.drain + options.grace


def test_image() -> None:
    """The image is built of existing files, and starts the gateway as its first process."""
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    assert 'ENTRYPOINT ["tritonclient-shim", "gateway"]' in text
    ignored = (DEPLOY / "Containerfile.dockerignore").read_text("utf-8").splitlines()
    taken = [line[1:] for line in ignored if line.startswith("!")]
    assert [name for name in taken if not (ROOT / name).exists()] == []
    assert {"README.md", "LICENSE", "pyproject.toml", "setup.cfg"} <= set(taken)
    links = [path.resolve() for path in ROOT.glob("tritonclient_shim/*") if path.is_symlink()]
    assert {path.relative_to(ROOT).as_posix() for path in links} <= set(taken)
    (build,) = [document["services"]["gateway"]["build"] for document in yaml("compose.yaml")]
    assert (DEPLOY / build["context"] / build["dockerfile"]).exists()


def test_kubernetes_ports_and_times() -> None:
    """Probes, the service and Triton's own ports are those of the containers."""
    gateway, triton = pod()["containers"]
    ports = (*gateway["ports"], *triton["ports"])
    named = {port["name"]: port["containerPort"] for port in ports}
    ready = gateway["readinessProbe"]["httpGet"]
    assert (ready["path"], named[ready["port"]]) == ("/api/health/ready", 8000)
    assert {f"--grpc-port={named['v2-grpc']}", f"--http-port={named['v2-http']}"} <= {
        *triton["args"]
    }
    assert parsed(gateway["args"]).triton_grpc.address == f"127.0.0.1:{named['v2-grpc']}"
    service = yaml("kubernetes.yaml")[1]["spec"]
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == named
    assert pod()["terminationGracePeriodSeconds"] > kubernetes().stop


def test_systemd_reads_it(tmp_path: Path) -> None:
    """systemd reports no error in the unit, apart from the path of the program."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    text = (DEPLOY / UNIT).read_text("utf-8")
    (tmp_path / UNIT).write_text(text.replace("=/opt/tritonclient-shim/bin/", "=/usr/bin/env "))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(tmp_path / UNIT).replace("@", "@800")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_healthcheck(gateway: Gateway, start_gateway: StartGateway) -> None:
    """The health check of the compose file succeeds only when Triton is ready."""
    (document,) = yaml("compose.yaml")
    kind, _, option, code = document["services"]["gateway"]["healthcheck"]["test"]
    assert (kind, option) == ("CMD", "-c")
    lost = start_gateway("--triton-grpc", "127.0.0.1:9", "--health-timeout", "0.5")
    for running, healthy in ((gateway, True), (lost, False)):
        check = [sys.executable, "-c", code.replace("127.0.0.1:8000", running.http)]
        done = subprocess.run(check, capture_output=True, check=False)
        assert (done.returncode == 0) is healthy

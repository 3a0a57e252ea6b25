"""The files of ``deploy/`` name options that the gateway has, and fit together."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import pytest

from testbed import TritonServer, repository
from tests.gateway.front_proxies import DEPLOY
from tests.gateway.gateway_process import PATIENCE, ROOT, Gateway, StartGateway, ask, until
from tests.gateway.grpc_requests import BODY, SIMPLE
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
    """Read kubernetes.yaml."""
    (gateway,) = pod("triton-v1")["spec"]["containers"]
    return Deployment(
        gateway["args"], float(pod("triton-v1")["spec"]["terminationGracePeriodSeconds"])
    )


def resource(kind: str, name: str) -> Any:
    """Return a document of kubernetes.yaml."""
    documents = yaml("kubernetes.yaml")
    (document,) = [
        document
        for document in documents
        if (document["kind"], document["metadata"]["name"]) == (kind, name)
    ]
    return document


def pod(deployment: str) -> Any:
    """Return the template of a deployment's pods."""
    return resource("Deployment", deployment)["spec"]["template"]


def ports_of(deployment: str) -> dict[str, int]:
    """Return the ports of a deployment's container by their names."""
    (container,) = pod(deployment)["spec"]["containers"]
    return {port["name"]: port["containerPort"] for port in container["ports"]}


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
    assert {"README.md", "LICENSE", "build_backend.py", "pyproject.toml", "setup.cfg"} <= set(taken)
    links = [path.resolve() for path in ROOT.glob("tritonclient_shim/*") if path.is_symlink()]
    assert {path.relative_to(ROOT).as_posix() for path in links} <= set(taken)
    (build,) = [document["services"]["gateway"]["build"] for document in yaml("compose.yaml")]
    assert (DEPLOY / build["context"] / build["dockerfile"]).exists()


def test_kubernetes_schema() -> None:
    """Kubernetes' own schema accepts each document, without unknown fields."""
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is missing")
    for document in yaml("kubernetes.yaml"):
        validator.validate(document, validator.latest_version(), strict=True)


@pytest.mark.parametrize("name", ["triton", "triton-v1"])
def test_kubernetes_names(name: str) -> None:
    """Services, deployments and the budget select the pods; probes ask ports of the container."""
    template = pod(name)
    labels = template["metadata"]["labels"]
    assert resource("Deployment", name)["spec"]["selector"]["matchLabels"] == labels
    service = resource("Service", name)["spec"]
    assert service["selector"] == labels
    for port in service["ports"]:
        assert port["port"] == ports_of(name)[port["targetPort"]]
    (container,) = template["spec"]["containers"]
    for kind, probe in container.items():
        if kind.endswith("Probe"):
            assert probe["httpGet"]["port"] in ports_of(name)
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes


def test_kubernetes_fits() -> None:
    """The gateways ask the only Triton, by its service, and are scraped where they have metrics."""
    options = parsed(kubernetes().arguments)
    assert options.triton_grpc.address == f"triton:{ports_of('triton')['v2-grpc']}"
    assert resource("Deployment", "triton")["spec"]["replicas"] == 1
    assert options.metrics_address.port == ports_of("triton-v1")["metrics"]
    annotations = pod("triton-v1")["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(options.metrics_address.port)
    budget = resource("PodDisruptionBudget", "triton-v1")["spec"]
    assert budget["selector"]["matchLabels"] == pod("triton-v1")["metadata"]["labels"]
    claim = pod("triton")["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert resource("PersistentVolumeClaim", claim)


@pytest.fixture(scope="module")
def triton_of_kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """Start Triton as kubernetes.yaml does, on an empty volume."""
    (container,) = pod("triton")["spec"]["containers"]
    assert {"--model-control-mode=explicit", "--load-model=*"} < {*container["args"]}
    folder = tmp_path_factory.mktemp("models")
    with TritonServer.start(["*"], folder) as server:
        repository.write(folder, ["simple"])
        yield server


def address_for(argument: str, triton: str) -> str:
    """Return an argument of the gateway with an address that exists here."""
    local = argument.replace("=triton:8001", f"={triton}")
    return re.sub(r"=0\.0\.0\.0:\d+$", "=127.0.0.1:0", local)


def test_kubernetes_as_processes(
    triton_of_kubernetes: TritonServer, start_gateway: StartGateway
) -> None:
    """A model loaded through a gateway is served by the other; probes and stops work."""
    (container,) = pod("triton-v1")["spec"]["containers"]
    arguments = [address_for(text, triton_of_kubernetes.grpc) for text in container["args"]]
    first, second = start_gateway(*arguments), start_gateway(*arguments)
    assert first.post("/api/modelcontrol/load/simple").code == 200
    assert second.infer("simple", SIMPLE, BODY).code == 200
    probes = {
        kind: container[kind]["httpGet"]["path"]
        for kind in ("startupProbe", "livenessProbe", "readinessProbe")
    }
    for path in probes.values():
        assert ask(second.metrics, "GET", path).code == 200
    page = ask(
        second.metrics, "GET", pod("triton-v1")["metadata"]["annotations"]["prometheus.io/path"]
    )
    assert b"requests_total" in page.body
    second.terminate()
    until(lambda: ask(second.metrics, "GET", probes["readinessProbe"]).code == 503)
    assert ask(second.metrics, "GET", probes["livenessProbe"]).code == 200
    assert second.infer("simple", SIMPLE, BODY).code == 200  # until the service has noticed
    assert second.process.wait(PATIENCE) == 0
    assert first.infer("simple", SIMPLE, BODY).code == 200


def test_kubernetes_triton_probes(triton_of_kubernetes: TritonServer) -> None:
    """Triton's probes succeed with an empty repository."""
    (container,) = pod("triton")["spec"]["containers"]
    for kind in ("startupProbe", "readinessProbe"):
        path = container[kind]["httpGet"]["path"]
        assert ask(triton_of_kubernetes.http, "GET", path).code == 200


def test_kubernetes_page() -> None:
    """The commands of the page name the image, the deployments and services of the files."""
    section = (ROOT / "docs/gateway.md").read_text("utf-8").split("## Kubernetes in 15 minutes")[1]
    section = section.split("\n## ")[0]
    (container,) = pod("triton-v1")["spec"]["containers"]
    assert f"docker build -f deploy/Containerfile -t {container['image']} ." in section
    assert f"docker push {container['image']}" in section
    for name in re.findall(r"(?:deployment|service)/([a-z0-9-]+)", section):
        assert resource("Deployment", name) and resource("Service", name)
    (secret,) = re.findall(r"create secret tls (\S+)", section)
    volumes = pod("triton-v1")["spec"]["volumes"]
    assert [volume["secret"]["secretName"] for volume in volumes] == [secret]


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

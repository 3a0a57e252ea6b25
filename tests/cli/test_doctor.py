"""``tritonclient-shim doctor``: installation, versions, settings, servers."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any, Iterator

import pytest

from tensorrtserver import api
from testbed import TritonServer, repository
from tests.backends.scripted_server import Answer, ScriptedServer, http
from tests.cli.cli_scripts import python, shim
from tritonclient_shim import __version__
from tritonclient_shim.cli import _findings, _server, doctor, main

MODELS = (
    *("simple", "classify", "classify_nolabels", "ensemble_classify"),
    *("identity_bf16", "sequence_labels", "spare"),
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in another folder than the checkout, whose packages the doctor would report."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """Yield a server with models of every kind: also decoupled, and not loaded."""
    folder = tmp_path_factory.mktemp("models")
    repository.write(folder, MODELS)
    shutil.copytree(folder / "simple", folder / "decoupled")
    config = folder / "decoupled" / "config.pbtxt"
    text = config.read_text("utf-8").replace('"simple"', '"decoupled"')
    config.write_text(f"{text}\nmodel_transaction_policy {{ decoupled: True }}\n", "utf-8")
    loaded = [name for name in (*MODELS, "decoupled") if name != "spare"]
    with TritonServer.start(loaded, repository=folder) as started:
        yield started


def examined(
    server: TritonServer, protocol: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Return exit status and output for the server."""
    status = main(["doctor", "--url", server.url(protocol), "--protocol", protocol])
    return status, capsys.readouterr().out


@pytest.mark.parametrize("kind", ["http", "grpc"])
@pytest.mark.smoke
def test_server_and_models(
    server: TritonServer, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The doctor names the server. It reports for each model if it is covered, and what to do."""
    status, text = examined(server, kind, capsys)
    lines = {line.strip() for line in text.splitlines()}
    assert status == 1
    assert "ok     ready" in lines
    (known,) = [line for line in lines if line.startswith("ok     it is 'triton', version 2.")]
    assert known.endswith(", over gRPC" if kind == "grpc" else ", over HTTP")
    assert "ok     5 models without remarks: covered" in lines
    assert "'simple'" not in text and "'classify'" not in text
    assert "note   model 'spare' is not loaded" in lines
    wrong = "WRONG  model 'decoupled' is decoupled, and v1 had one"
    assert any(line.startswith(wrong) for line in lines)
    assert any(
        line.startswith("note   model 'identity_bf16': tensor 'INPUT0' is BF16") for line in lines
    )


@pytest.mark.parametrize(
    ("url", "kind", "says"),
    [
        ("127.0.0.1:1", "http", "Couldn't connect to server"),
        ("127.0.0.1:1", "grpc", "Connect Failed"),
        ("http://user:s3cret@127.0.0.1:1", "http", "Couldn't connect to server"),
    ],
)
def test_no_server(url: str, kind: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a listener the doctor prints the script's error first, and never a password."""
    assert main(["doctor", "--url", url, "--protocol", kind]) == 1
    text = capsys.readouterr().out
    name = "gRPC" if kind == "grpc" else "HTTP"
    shown = url.replace("user:s3cret@", "")
    assert f"WRONG  {shown} over {name}: " in text and says in text
    assert "s3cret" not in text
    assert "Check that the server runs, its address and its port" in text.partition("\nVersions")[0]


@pytest.mark.parametrize("option", ["http", "grpc"])
def test_swapped_ports(
    server: TritonServer, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The doctor first reports a port of the other protocol, and what to change."""
    url = server.grpc if option == "http" else server.http
    assert main(["doctor", "--url", url, "--protocol", option]) == 1
    lines = capsys.readouterr().out.splitlines()
    actual, wanted = ("gRPC", "HTTP") if option == "http" else ("HTTP", "gRPC")
    assert lines[0] == "What is wrong"
    (line,) = (line for line in lines[: lines.index("Versions")] if url in line)
    assert line.startswith(
        f"  WRONG  {url} is a server's {actual} port, and was to be asked over {wanted}: "
    )
    assert f'or ProtocolType.from_str("{actual.lower()}")' in line
    assert "  ok     5 models without remarks: covered" in lines


def test_without_a_protocol_the_port_tells(
    server: TritonServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --protocol, the doctor uses the protocol of the port."""
    main(["doctor", "--url", server.grpc])
    text = capsys.readouterr().out
    assert ", over gRPC" in text and "port, and was to be asked" not in text


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_a_silent_server_is_given_up(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that accepts connections and never replies is reported for both protocols."""
    monkeypatch.setattr(_server, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"127.0.0.1:{silent.getsockname()[1]}"
        assert main(["doctor", "--url", url, "--protocol", kind]) == 1
    text = capsys.readouterr().out
    for name in ("HTTP", "gRPC"):
        assert f"WRONG  {url} over {name}: no answer within 0.5 seconds" in text


@pytest.mark.parametrize("body", [b"<html>hello</html>", b'{"name": 5}'])
def test_no_v2_server(body: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """A server that is no v2 server may be v1's. The doctor says what to do and to check."""
    with ScriptedServer(lambda request: http(200, body)) as foreign:
        assert main(["doctor", "--url", foreign.address, "--protocol", "http"]) == 1
    text = capsys.readouterr().out
    assert ". If it is a v1 server, it needs NVIDIA's own client" in text
    assert "Check that the server runs, its address and its port" in text


_MISSING, _REFUSED = http(404), http(400, b'{"error": "no such thing"}')


def of_replies(
    capsys: pytest.CaptureFixture[str], replies: dict[str, Any], extensions: tuple[str, ...] = ()
) -> tuple[int, str]:
    """Return exit status and output for a server with these replies by path."""
    known: dict[str, Any] = {
        "/v2": {"name": "triton", "version": "2.0", "extensions": [*extensions]},
        "/v2/health/live": {},
        "/v2/health/ready": {},
        **replies,
    }

    def answer(request: bytes) -> Answer:
        reply = known.get(request.split()[1].decode().rstrip("/"), _MISSING)
        if isinstance(reply, bytes):
            return reply
        return http(200, json.dumps(reply).encode(), "Content-Type: application/json")

    with ScriptedServer(answer) as server:
        status = main(["doctor", "--url", server.address, "--protocol", "http"])
    return status, capsys.readouterr().out


def ready(*names: str) -> dict[str, Any]:
    """Return the reply with a list of ready models."""
    rows = [{"name": name, "version": "1", "state": "READY"} for name in names]
    return {"/v2/repository/index": rows}


def test_model_without_a_readable_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    """A model without a readable configuration is named with the reason. More models follow."""
    config = {"name": "plain", "platform": "x", "max_batch_size": 0, "input": [], "output": []}
    replies = {"/v2/models/odd/config": _REFUSED, "/v2/models/plain/config": config}
    status, text = of_replies(
        capsys, {**ready("odd", "plain"), **replies}, ("model_configuration",)
    )
    assert status == 1
    assert "WRONG  model 'odd' has no readable configuration: no such thing" in text
    assert "ok     1 model without remarks: covered" in text


@pytest.mark.parametrize(
    ("replies", "status", "says"),
    [
        ({}, 0, "note   it has no list of its models over this protocol"),
        ({"/v2/health/ready": _REFUSED, **ready()}, 0, "note   live, but not ready"),
        ({"/v2/repository/index": {"name": 5}}, 1, ", after it had answered other questions"),
        ({"/v2/models/a": b"", **ready("a", "b")}, 1, ", after it had answered other questions"),
    ],
    ids=["no list", "not ready", "unreadable list", "gone"],
)
def test_a_server_that_answers_in_part(
    capsys: pytest.CaptureFixture[str], replies: dict[str, Any], status: int, says: str
) -> None:
    """The doctor says what a server that answers does not offer."""
    ended, text = of_replies(capsys, replies)
    assert (ended, says in text) == (status, True), text


def test_an_unusable_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a setting that no context accepts, the server is reported with the context's error."""
    monkeypatch.setenv("TRITON_SHIM_ROOT_CERTIFICATES", __file__)
    assert main(["doctor", "--url", "https://localhost:1"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("What is wrong\n  WRONG  The root certificates "), text


def test_healthy_installation(tmp_path: Path) -> None:
    """A healthy installation without a server has exit status 0, versions and settings."""
    done = shim(tmp_path, "doctor")
    assert done.returncode == 0, done.stdout
    assert f"tensorrtserver is tritonclient-shim's {__version__}, in " in done.stdout
    assert "WRONG" not in done.stdout
    assert "  note   not asked; --url HOST:PORT checks one\n" in done.stdout
    assert done.stdout.startswith("Nothing is wrong.\n")
    assert "  ok     each has its default; " in done.stdout


def test_settings_show_where_they_come_from(tmp_path: Path) -> None:
    """A setting is shown with its variable. A misspelt variable and a bad value are wrong."""
    variables = {"TRITON_SHIM_TLS": "on", "TRITON_SHIM_WARNING": "off"}
    done = shim(tmp_path, "doctor", **variables)
    assert done.returncode == 1
    settings = done.stdout.partition("\nSettings\n")[2].partition("\nServer\n")[0]
    assert settings == "  note   tls = on  (environment; TRITON_SHIM_TLS)"
    assert "did you mean TRITON_SHIM_WARNINGS?" in done.stdout
    done = shim(tmp_path, "doctor", TRITON_SHIM_NETWORK_TIMEOUT="soon")
    assert "WRONG  TRITON_SHIM_NETWORK_TIMEOUT is 'soon'; expected" in done.stdout


@pytest.mark.parametrize(
    ("version", "level", "says"),
    [
        ("2.40.0", "ok", "tritonclient 2.40.0"),
        ("2.39.0", "WRONG", "is too old: >=2.40 is needed"),
        ("2.39rc1", "WRONG", "is too old"),
        ("", "WRONG", "-m pip install 'tritonclient[grpc,http]>=2.40'"),
    ],
)
def test_versions(monkeypatch: pytest.MonkeyPatch, version: str, level: str, says: str) -> None:
    """A version older than supported is wrong, a missing package too."""
    monkeypatch.setattr(doctor, "_version", lambda name: version)
    (finding,) = [row for row in doctor.versions() if "tritonclient" in row.text]
    assert finding.level == level
    assert says in finding.text


def test_imports_wait_for_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """An old package is the only error, even if imports fail because of it."""
    installed = doctor._version
    versions = {"protobuf": "3.19.6"}
    monkeypatch.setattr(doctor, "_version", lambda name: versions.get(name) or installed(name))
    monkeypatch.setattr(doctor, "import_error", lambda modules: "ImportError: no")
    (wrong,) = [row.text for row in doctor.versions() if row.level == _findings.WRONG]
    assert wrong.startswith("protobuf 3.19.6 is too old: >=3.20.2 is needed. Install it:\n")


def test_ranges_are_those_of_the_support_page() -> None:
    """The first row of the support page's table has the doctor's oldest tritonclient."""
    (triton,) = [row for row in doctor.REQUIRED if row.name == "tritonclient"]
    page = (Path(__file__).resolve().parents[2] / "docs" / "support.md").read_text("utf-8")
    (first,) = [line.split("|") for line in page.splitlines() if line.startswith("| A |")]
    assert triton.least == f">={first[3].strip()}"


#: Prints what an error has beside v1's text. In a process of its own: gRPC keeps channels.
_STATUS = """
import sys
from tensorrtserver.api import *

url, protocol = sys.argv[1:]
try:
    ServerStatusContext(url, ProtocolType.from_str(protocol)).get_server_status()
except InferenceServerException as error:
    print(error.debug_details())
"""


@pytest.fixture
def dead_proxy(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a proxy that is down, and have http_proxy name it."""
    for name in ("no_proxy", "NO_PROXY", "https_proxy", "grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    monkeypatch.setenv("http_proxy", f"http://user:s3cret@{address}")
    return address


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_a_dead_proxy_is_named(
    server: TritonServer, kind: str, dead_proxy: str, tmp_path: Path
) -> None:
    """The doctor names the proxy and its variable, and says that the server answers without."""
    done = shim(tmp_path, "doctor", "--url", server.url(kind), "--protocol", kind)
    text = done.stdout
    name = "gRPC" if kind == "grpc" else "HTTP"
    assert done.returncode == 1
    assert f"note   over {name}, calls take the proxy {dead_proxy} of http_proxy; add" in text
    assert f"WRONG  it answers over {name} without the proxy: add its host to no_proxy" in text
    assert "s3cret" not in text


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_the_error_names_the_proxy(
    server: TritonServer, kind: str, dead_proxy: str, tmp_path: Path
) -> None:
    """The error of a legacy call names the proxy and its variable beside v1's text."""
    done = python(tmp_path, "-c", _STATUS, server.url(kind), kind)
    assert f"calls take the proxy {dead_proxy} of http_proxy; " in done.stdout, done.stderr
    assert "s3cret" not in done.stdout


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (401, "the answer is HTTP 401 Unauthorized: give the credentials"),
        (413, "the answer is HTTP 413 "),
        (503, "the answer is HTTP 503 Service Unavailable: a proxy answers"),
        (599, "the answer is HTTP 599"),
    ],
)
def test_the_status_of_a_foreign_answer(
    code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Doctor and note show the HTTP status of a foreign answer; v1's text is as it was."""
    with ScriptedServer(lambda request: http(code, b"<html>")) as foreign:
        assert main(["doctor", "--url", foreign.address, "--protocol", "http"]) == 1
        context = api.ServerStatusContext(foreign.address, api.ProtocolType.HTTP)
        with pytest.raises(api.InferenceServerException) as caught:
            context.get_server_status()
    assert says in capsys.readouterr().out
    assert says in caught.value.debug_details()
    assert caught.value.message() == "status request did not return status"


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_tls_on_a_plain_port(
    server: TritonServer, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The doctor says that a port speaks no TLS if the server answers without."""
    url = f"https://{server.url(kind)}"
    assert main(["doctor", "--url", url, "--protocol", kind]) == 1
    assert "WRONG  the port speaks no TLS" in capsys.readouterr().out.partition("\nVersions")[0]

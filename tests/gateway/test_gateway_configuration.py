"""Options of the gateway by command line, environment and file: one table, three forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.test_gateway_process import run_command
from tritonclient_shim.gateway.options.configuration import (
    OptionError,
    options_from,
    unknown_variables,
)
from tritonclient_shim.gateway.options.table import OPTIONS, GatewayOptions

#: A usable text for each option, which is not its default.
TEXTS = {
    "http": "0.0.0.0:9000",
    "grpc": "[::1]:9001",
    "triton_grpc": "grpcs://triton:8001",
    "triton_http": "https://triton:8000",
    "server_id": "inference:0",
    "emulate": "1.12",
    "access_log": "json",
    "metrics_address": "127.0.0.1:9002",
}
TRITON = "127.0.0.1:9"
#: A file of credentials.
HEADERS = str(Path(__file__).with_name("headers.txt"))
#: What some options are of no use without.
WITH = {
    "tls_certificate": {"tls_key": __file__},
    "tls_key": {"tls_certificate": __file__},
    "tls_client_roots": {"tls_certificate": __file__, "tls_key": __file__},
    "triton_certificate": {"triton_key": __file__},
    "triton_key": {"triton_certificate": __file__},
}


def text_of(name: str) -> str:
    """A usable text; numbers differ from every default."""
    one = OPTIONS[name].metadata["shown"]
    if name == "triton_headers":
        return HEADERS
    return TEXTS.get(name, __file__ if one == "FILE" else "7" if one in ("N", "SECONDS") else "a")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No option in the environment."""
    for name in (*OPTIONS, "config"):
        monkeypatch.delenv(f"TRITON_SHIM_GATEWAY_{name.upper()}", raising=False)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "triton_grpc"])
def test_each_option_has_three_forms(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A text means the same on the command line, in the environment and in a file."""
    text, base = text_of(name), {"triton_grpc": TRITON, **WITH.get(name, {})}
    given = options_from({**base, name: text})
    assert getattr(given, name) != OPTIONS[name].default
    file = tmp_path / "gateway.toml"
    file.write_text(f'{name.replace("_", "-")} = "{text}"\n')
    assert options_from({**base, "config": str(file)}) == given
    monkeypatch.setenv(f"TRITON_SHIM_GATEWAY_{name.upper()}", text)
    assert options_from(base) == given


def test_lists_in_a_file(tmp_path: Path) -> None:
    """Several headers are a list there; ``none`` forwards nothing."""
    file = tmp_path / "gateway.toml"
    file.write_text(f'triton-grpc = "{TRITON}"\nforward-header = ["X-Request-Id", "b3"]\n')
    assert options_from({"config": str(file)}).forward_header == ("x-request-id", "b3")
    assert options_from({"triton_grpc": TRITON, "forward_header": "none"}).forward_header == ()


def test_precedence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command line goes before the environment, that before the file, that before defaults."""
    file = tmp_path / "gateway.toml"
    file.write_text(f'triton-grpc = "{TRITON}"\nworkers = 2\nmax-streams = 2\ngrace = 2.5\n')
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_CONFIG", str(file))
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_WORKERS", "3")
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_MAX_STREAMS", "3")
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_DRAIN", "")  # empty is as good as not set
    found = options_from({"workers": "4"})
    assert (found.workers, found.max_streams, found.grace) == (4, 3, 2.5)
    assert found.drain == GatewayOptions.drain


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("workers = 0", "gateway.toml, key workers: expected a positive number, got 0"),
        ("workers = true", "key workers: expected a positive number, got True"),
        ("http = 8000", "key http: expected HOST:PORT, got 8000"),
        ("grace = 'long'", "key grace: expected a number of seconds from 0 on, got 'long'"),
        ("worker = 2", "gateway.toml: unknown key 'worker'; did you mean workers?"),
        ("workers", "gateway.toml is not a TOML file: "),
        ("workers = " + "[" * 50_000, "gateway.toml is not a TOML file: "),
        ("[gateway]\nworkers = 2", "gateway.toml: unknown key 'gateway'; "),
    ],
    ids=lambda text: text[:60],
)
def test_unusable_file(content: str, text: str, tmp_path: Path) -> None:
    """What is wrong in a file is told with file, key, and what was expected."""
    file = tmp_path / "gateway.toml"
    file.write_text(content)
    with pytest.raises(OptionError) as caught:
        options_from({"triton_grpc": TRITON, "config": str(file)})
    assert text in str(caught.value)


def test_unusable_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unusable variable is named; a misspelt one leads to a warning."""
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_WORKERS", "many")
    with pytest.raises(OptionError) as caught:
        options_from({"triton_grpc": TRITON})
    told = "TRITON_SHIM_GATEWAY_WORKERS: expected a positive number, got 'many'"
    assert str(caught.value) == told
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_MAX_STREAM", "3")
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_SERVICE_HOST", "10.0.0.1")  # Kubernetes'
    (line,) = unknown_variables()
    assert line.endswith("MAX_STREAM is no option; did you mean TRITON_SHIM_GATEWAY_MAX_STREAMS?")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"tls_key": __file__}, "--tls-key is of no use without --tls-certificate: give both"),
        ({"triton_certificate": __file__}, "is of no use without --triton-key: give both"),
        ({"tls_client_roots": __file__}, "without --tls-certificate and --tls-key"),
        ({"tls_key": "/nowhere"}, "--tls-key: expected the path of a file that exists"),
        ({"triton_headers": __file__}, "a file with a line NAME: VALUE for each header"),
        ({"forward_header": "host"}, "cannot be handed on, and 'host' is one, got 'host'"),
        ({"forward_header": "a b"}, "expected names of headers such as x-request-id"),
    ],
)
def test_what_cannot_be_used_together(given: dict[str, str], text: str) -> None:
    """Halves of a pair, and unusable files and names, are named; secrets are not repeated."""
    with pytest.raises(OptionError) as caught:
        options_from({"triton_grpc": TRITON, **given})
    assert text in str(caught.value)


def test_the_command_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ends with status 2 and one line; a missing file is named."""
    done = run_command("gateway", "--config", str(tmp_path / "nowhere.toml"))
    assert done.returncode == 2
    assert "--config: cannot read" in done.stderr and "No such file" in done.stderr
    done = run_command("gateway")
    assert done.returncode == 2
    for form in ("--triton-grpc", "TRITON_SHIM_GATEWAY_TRITON_GRPC", "triton-grpc in the file"):
        assert form in done.stderr


def test_the_page_has_every_option() -> None:
    """docs/gateway.md describes each option."""
    page = (Path(__file__).resolve().parents[2] / "docs/gateway.md").read_text()
    missing: Any = [name for name in OPTIONS if f"`--{name.replace('_', '-')}" not in page]
    missing += [name for name in ("http", "grpc") if f"`--{name}`" not in page]
    assert [name for name in missing if name not in ("http", "grpc")] == []

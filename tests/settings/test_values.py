"""Settings: their sources, accepted values and descriptions (docs/settings.md)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tritonclient_shim
from tritonclient_shim import settings
from tritonclient_shim.settings import (
    DEFAULTS,
    FIELDS,
    Settings,
    SettingsError,
    configure,
    current,
    variable,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pem(tmp_path: Path) -> str:
    """Return a readable file, whose content does not matter here."""
    path = tmp_path / "some.pem"
    path.write_text("x")
    return str(path)


def test_defaults_are_v1s() -> None:
    """By default there is no time limit and no TLS setting, as in v1."""
    # docs/v1-behaviour.md §10.4
    assert current() is DEFAULTS
    assert Settings() == DEFAULTS
    assert DEFAULTS.connect_timeout is DEFAULTS.network_timeout is None
    assert DEFAULTS.tls == "auto"


def test_configure_over_environment_over_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """configure() wins over the variable, the variable over the default; None resets."""
    monkeypatch.setenv("TRITON_SHIM_NETWORK_TIMEOUT", "7.5")
    assert current().network_timeout == 7.5
    assert configure(network_timeout=2).network_timeout == 2.0
    assert current().network_timeout == 2.0
    assert configure(network_timeout="none").network_timeout is None
    assert configure(network_timeout=None).network_timeout == 7.5
    monkeypatch.delenv("TRITON_SHIM_NETWORK_TIMEOUT")
    assert current().network_timeout is None


def test_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty variable counts as unset."""
    monkeypatch.setenv("TRITON_SHIM_TLS", "")
    assert current() is DEFAULTS


def test_refused_change_changes_nothing() -> None:
    """A setting stays until it changes. One bad value of several rejects them all."""
    configure(tls="on")
    configure(connect_timeout=1)
    with pytest.raises(SettingsError, match="network_timeout"):
        configure(tls="off", network_timeout="soon")
    assert (current().tls, current().connect_timeout) == ("on", 1.0)


GOOD = [
    ("tls", "ON", "on"),
    ("connect_timeout", "0.25", 0.25),
    ("network_timeout", 60, 60.0),
    ("keepalive_time", "off", None),
    ("keepalive_timeout", "none", 20.0),
    ("http_headers", "Authorization: Bearer a:b", (("Authorization", "Bearer a:b"),)),
    ("http_headers", "B: 2\nA: 1", (("A", "1"), ("B", "2"))),
    ("http_headers", '{"A": "1"}', (("A", "1"),)),
    ("http_headers", {"A": "1"}, (("A", "1"),)),
    ("http_headers", [("A", "1")], (("A", "1"),)),
    ("grpc_metadata", "Authorization: x", (("authorization", "x"),)),
    ("grpc_channel_arguments", "grpc.a=1, grpc.b=c", (("grpc.a", 1), ("grpc.b", "c"))),
    ("grpc_channel_arguments", {"grpc.a": True}, (("grpc.a", 1),)),
    ("rewrite_addresses", "a:1=b:2, *:8001=*:9001", (("a:1", "b:2"), ("*:8001", "*:9001"))),
    ("rewrite_addresses", {"a:1": "b:2"}, (("a:1", "b:2"),)),
]


@pytest.mark.parametrize(("name", "value", "held"), GOOD)
def test_accepted(name: str, value: Any, held: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python values and texts of variables mean the same."""
    assert getattr(configure(**{name: value}), name) == held
    configure(**{name: None})
    if isinstance(value, str):
        monkeypatch.setenv(variable(name), value)
        assert getattr(current(), name) == held


BAD = [
    ("tls", "maybe", "one of: auto"),
    ("connect_timeout", "0", "a number of seconds"),
    ("network_timeout", "-1", "a number of seconds"),
    ("network_timeout", "nan", "a number of seconds"),
    ("keepalive_time", "soon", "a number of seconds"),
    ("root_certificates", "/no/such/file.pem", "PEM file that exists"),
    ("client_key", "/", "PEM file that exists"),
    ("http_headers", "no colon", "name:value"),
    ("http_headers", "a b: c", "cannot be sent"),
    ("http_headers", '{"A": 1}', "that are text"),
    ("http_headers", "{broken", "a JSON object"),
    pytest.param("http_headers", '{"a":' * 20_000, "a JSON object", id="deep JSON"),
    ("grpc_metadata", "key-bin: x", "cannot be sent"),
    ("grpc_metadata", "grpc-timeout: 1", "cannot be sent"),
    ("grpc_metadata", "key: ü", "cannot be sent"),
    ("grpc_channel_arguments", "grpc.a", "name=value"),
    ("rewrite_addresses", "a:1", "old=new"),
    ("rewrite_addresses", "a:1=*:2", "old=new"),
    ("rewrite_addresses", "http://a:1=b:2", "old=new"),
]


@pytest.mark.parametrize(("name", "text", "expected"), BAD)
def test_refused(name: str, text: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unusable value is reported with its source, what was expected, and what to do."""
    with pytest.raises(SettingsError, match=f"^configure\\({name}=…\\) is ") as caught:
        configure(**{name: text})
    assert expected in str(caught.value)
    assert "tritonclient-shim guide settings" in str(caught.value)
    monkeypatch.setenv(variable(name), text)
    with pytest.raises(SettingsError, match=f"^TRITON_SHIM_{name.upper()} is ") as caught:
        current()
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("network_timeout", True),
        pytest.param("network_timeout", 10**400, id="long number"),
        ("root_certificates", 3),
        ("http_headers", 3),
        ("http_headers", {1: "x"}),
        ("grpc_channel_arguments", {"a": 1.5}),
        ("grpc_channel_arguments", {"a": 2**31}),
        ("rewrite_addresses", 3),
        ("rewrite_addresses", [("a:1", 2)]),
        ("rewrite_addresses", [(b"a:1", b"b:1")]),
        ("tls", []),
    ],
)
def test_refused_objects(name: str, value: Any) -> None:
    """Objects of the wrong type are refused by configure(), not at their use."""
    with pytest.raises(
        SettingsError, match=f"^configure\\({name}=…\\) .*; expected .*guide settings"
    ):
        configure(**{name: value})


def test_secret_values_are_not_shown() -> None:
    """The error does not repeat a refused header, which may contain a password."""
    with pytest.raises(SettingsError) as caught:
        configure(http_headers={"Authorization": "secret\n"})
    assert "secret" not in str(caught.value)


def test_unknown_setting() -> None:
    """A misspelt setting is refused with the nearest one."""
    with pytest.raises(TypeError, match="'root_certificate'; did you mean root_certificates"):
        configure(root_certificate="x")


def test_key_needs_its_certificate(pem: str) -> None:
    """A client key without certificate, or the reverse, is refused with the missing setting."""
    with pytest.raises(SettingsError, match="client_key is given without client_certificate"):
        configure(client_key=pem)
    with pytest.raises(SettingsError, match="TRITON_SHIM_CLIENT_KEY"):
        configure(client_certificate=pem)
    assert configure(client_key=pem, client_certificate=pem).client_key == pem


def test_described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each setting that is given has a line with value, source and variable, without secrets."""
    monkeypatch.setenv("TRITON_SHIM_TLS", "on")
    monkeypatch.setenv("TRITON_SHIM_REPORT", "uses.json")
    configure(
        http_headers={"Authorization": "secret"},
        network_timeout=2.5,
        rewrite_addresses={"a:1": "b:2"},
    )
    assert settings.described() == [
        "rewrite_addresses = a:1=b:2  (configure(); TRITON_SHIM_REWRITE_ADDRESSES)",
        "tls = on  (environment; TRITON_SHIM_TLS)",
        "network_timeout = 2.5  (configure(); TRITON_SHIM_NETWORK_TIMEOUT)",
        "http_headers = Authorization: …  (configure(); TRITON_SHIM_HTTP_HEADERS)",
        "report = uses.json  (environment; TRITON_SHIM_REPORT)",
    ]


def test_unknown_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt variable is reported with the nearest name."""
    monkeypatch.setenv("TRITON_SHIM_NETWORK_TIMEOUTS", "1")
    monkeypatch.setenv("TRITON_SHIM_WARNINGS", "off")
    assert settings.unknown_variables() == (
        ("TRITON_SHIM_NETWORK_TIMEOUTS", "TRITON_SHIM_NETWORK_TIMEOUT"),
    )


def test_every_setting_is_documented() -> None:
    """docs/settings.md has a row for each variable."""
    text = (ROOT / "docs" / "settings.md").read_text("utf-8")
    missing = [name for name in FIELDS if f"`{variable(name)}`" not in text]
    assert not missing


def test_import_is_cheap() -> None:
    """Importing the package loads none of its modules; public names load when used."""
    code = (
        "import sys, tritonclient_shim; "
        "assert not [m for m in sys.modules if m.startswith('tritonclient_shim.')]; "
        "tritonclient_shim.configure; assert 'numpy' not in sys.modules; "
        "tritonclient_shim.unwrap; assert not {'grpc', 'gevent'} & set(sys.modules); "
        "assert not hasattr(tritonclient_shim, 'nothing')"
    )
    path = str(Path(tritonclient_shim.__file__).parents[1])
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": path})

"""Options of the gateway by command line and environment: one table, two forms."""

from __future__ import annotations

import pytest

from tests.gateway.gateway_process import ROOT
from tritonclient_shim.gateway.options import (
    OPTIONS,
    GatewayOptions,
    OptionError,
    options_from,
    unknown_variables,
)

#: A usable text for each option, which is not its default.
TEXTS = {
    "http": "0.0.0.0:9000",
    "grpc": "[::1]:9001",
    "triton_grpc": "grpcs://triton:8001",
    "server_id": "inference:0",
    "emulate": "1.12",
    "access_log": "json",
    "metrics_address": "127.0.0.1:9002",
    "start_line": "json",
}
TRITON = "127.0.0.1:9"
#: Options that other options need.
WITH = {
    "tls_certificate": {"tls_key": __file__},
    "tls_key": {"tls_certificate": __file__},
    "tls_client_roots": {"tls_certificate": __file__, "tls_key": __file__},
}


def text_of(name: str) -> str:
    """Return a usable text of an option that is not its default."""
    texts = {"FILE": __file__, "N": "7", "SECONDS": "7"}
    return TEXTS.get(name) or texts.get(OPTIONS[name].metadata["shown"], "a")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the options' variables from the environment."""
    for name in OPTIONS:
        monkeypatch.delenv(f"TRITON_SHIM_GATEWAY_{name.upper()}", raising=False)


@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "triton_grpc"])
def test_each_option_has_two_forms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text has one meaning on the command line and in the environment."""
    text, base = text_of(name), {"triton_grpc": TRITON, **WITH.get(name, {})}
    options = options_from({**base, name: text})
    assert getattr(options, name) != OPTIONS[name].default
    monkeypatch.setenv(f"TRITON_SHIM_GATEWAY_{name.upper()}", text)
    assert options_from(base) == options


def test_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line goes before the environment, the environment before defaults.

    An empty variable counts as unset.
    """
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_GRACE", "3")
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_CLIENT_TIMEOUT", "3")
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_DRAIN", "")
    options = options_from({"triton_grpc": TRITON, "grace": "4", "forward_header": "none"})
    assert (options.grace, options.client_timeout, options.forward_header) == (4, 3, ())
    assert options.drain == GatewayOptions.drain


def test_unusable_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names an unusable variable; a misspelt variable leads to a warning."""
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_MAX_IN_FLIGHT", "many")
    with pytest.raises(OptionError) as caught:
        options_from({"triton_grpc": TRITON})
    expected = "TRITON_SHIM_GATEWAY_MAX_IN_FLIGHT: expected a positive number, got 'many'"
    assert str(caught.value) == expected
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_MAX_BODY_BYTE", "3")
    monkeypatch.setenv("TRITON_SHIM_GATEWAY_SERVICE_HOST", "10.0.0.1")  # Kubernetes'
    (line,) = unknown_variables()
    assert line.endswith("did you mean TRITON_SHIM_GATEWAY_MAX_BODY_BYTES?")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"http": "8000"}, "--http: expected HOST:PORT, got '8000'"),
        ({"emulate": "1.10"}, "expected 1.11, 1.12, 1.13, 1.14 or 1.15, got '1.10'"),
        ({"max_body_bytes": "0"}, "expected a positive number, got '0'"),
        ({"client_timeout": "0"}, "number of seconds, got '0'"),
        ({"client_timeout": "5s"}, "number of seconds, got '5s'"),
        ({"tls_key": __file__}, "--tls-key is of no use without --tls-certificate: give both"),
        ({"tls_client_roots": __file__}, "without --tls-certificate and --tls-key"),
        ({"tls_key": "/nowhere"}, "--tls-key: expected the path of a file that exists"),
        ({"forward_header": "host"}, "cannot be handed on, and 'host' is one, got 'host'"),
        ({"forward_header": "a b"}, "expected names of headers such as x-request-id"),
    ],
)
def test_what_cannot_be_used(arguments: dict[str, str], text: str) -> None:
    """The error names an option that lacks its pair, or has an unusable value."""
    with pytest.raises(OptionError) as caught:
        options_from({"triton_grpc": TRITON, **arguments})
    assert text in str(caught.value)


def test_the_page_has_every_option() -> None:
    """docs/gateway.md describes each option, and there are at most 20."""
    page = (ROOT / "docs/gateway.md").read_text()
    assert [name for name in OPTIONS if f"`--{name.replace('_', '-')}" not in page] == []
    assert len(OPTIONS) <= 20

"""Effects of settings: addresses, channel arguments, proxies (docs/settings.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim import settings
from tritonclient_shim.backends import effective_endpoint
from tritonclient_shim.backends.grpc.channel import options_of
from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.settings import DEFAULTS, SettingsError, configure, current

REWRITES = "localhost:8000=triton.example:443, *:8001=grpcs://*:9001, 10.0.*:*=*.*.test:80, x=y"


@pytest.mark.parametrize(
    ("address", "expected", "secure"),
    [
        ("localhost:8000", "triton.example:443", False),
        ("LOCALHOST:8000/v1", "triton.example:443/v1", False),
        ("somewhere:8001", "somewhere:9001", True),
        ("10.0.3.4:7", "3.4.7.test:80", False),
        ("x", "y", False),
        ("xx", "xx", False),
        ("localhost:80001", "localhost:80001", False),
    ],
)
def test_rewriting(address: str, expected: str, secure: bool) -> None:
    """The first rule that matches host and port replaces both; a scheme decides about TLS."""
    chosen = configure(rewrite_addresses=REWRITES)
    assert effective_endpoint(Endpoint(HTTP, address), chosen) == Endpoint(HTTP, expected, secure)


def test_tls_mode() -> None:
    """``on`` and ``off`` win over the url's scheme; ``auto`` follows it."""
    plain, secure = Endpoint(GRPC, "a:1"), Endpoint(GRPC, "a:1", True)
    assert effective_endpoint(plain, configure(tls="on")) == secure
    assert effective_endpoint(secure, configure(tls="off")) == plain
    assert effective_endpoint(secure, configure(tls="auto")) is not plain
    assert effective_endpoint(secure, configure(tls="auto")) == secure


def test_grpc_channel_arguments() -> None:
    """Settings become channel arguments; explicit arguments win."""
    configure(
        connect_timeout=1.5,
        keepalive_time=30,
        grpc_channel_arguments={"grpc.keepalive_timeout_ms": 7, "grpc.primary_user_agent": "me"},
    )
    options = dict(options_of(current()))
    plain = dict(options_of(DEFAULTS))
    assert {name: value for name, value in options.items() if plain.get(name) != value} == {
        "grpc.min_reconnect_backoff_ms": 1500,
        "grpc.initial_reconnect_backoff_ms": 1500,
        "grpc.keepalive_time_ms": 30000,
        "grpc.keepalive_timeout_ms": 7,
        "grpc.http2.ping_timeout_ms": 20000,
        "grpc.primary_user_agent": "me",
    }


PROXIES = [
    ("http_proxy", "http://p:3128", "", "a.test", False, ("p", 3128, "")),
    ("all_proxy", "http://p:1", "", "a.test", False, ("p", 1, "")),
    ("all_proxy", "http://p:1", "", "a.test", True, ("p", 1, "")),
    ("https_proxy", "http://p:1", "", "a.test", True, ("p", 1, "")),
    ("https_proxy", "http://p:1", "", "a.test", False, None),
    ("http_proxy", "http://p:1", "", "a.test", True, None),
    ("HTTP_PROXY", "http://p:1", "", "a.test", False, None),
    ("http_proxy", "http://p:1", "b.test, a.test", "a.test", False, None),
    ("http_proxy", "http://p:1", ".test", "a.test", False, None),
    ("http_proxy", "http://p:1", "*", "a.test", False, None),
    ("http_proxy", "http://p:1", "est", "a.test", False, ("p", 1, "")),
    ("http_proxy", "http://p:1", "::1", "::1", False, None),
]


@pytest.mark.parametrize(("name", "value", "exceptions", "host", "secure", "expected"), PROXIES)
def test_proxy_of_the_environment(
    name: str,
    value: str,
    exceptions: str,
    host: str,
    secure: bool,
    expected: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lower-case variables apply, as in v1, and no_proxy lists exceptions."""
    # docs/v1-behaviour.md §10.1
    monkeypatch.setenv(name, value)
    monkeypatch.setenv("no_proxy", exceptions)
    assert settings.proxy_for(host, secure) == expected


def test_proxy_that_is_not_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SOCKS proxy is refused with an alternative, without its password."""
    monkeypatch.setenv("all_proxy", "socks5://u:secret@p:1")
    with pytest.raises(SettingsError, match="all_proxy.*in no_proxy") as caught:
        settings.proxy_for("a", False)
    assert "secret" not in str(caught.value)

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


P = "http://p:3128"
OTHER = "http://other:1"
THROUGH_P = ("p", 3128, "")

#: Variables of the environment, whether the connection has TLS, and the proxy to "a.test".
#: Each row was observed in the genuine client, those with TLS in libcurl.
PROXIES: list[tuple[dict[str, str], bool, Any]] = [
    ({"http_proxy": P}, False, THROUGH_P),
    ({"http_proxy": P}, True, None),
    ({"HTTP_PROXY": P}, False, None),
    ({"HTTP_PROXY": P}, True, None),
    ({"https_proxy": P}, False, None),
    ({"https_proxy": P}, True, THROUGH_P),
    ({"HTTPS_PROXY": P}, False, None),
    ({"HTTPS_PROXY": P}, True, THROUGH_P),
    ({"HTTPS_PROXY": OTHER, "https_proxy": P}, True, THROUGH_P),
    ({"HTTPS_PROXY": P, "all_proxy": OTHER}, True, THROUGH_P),
    ({"all_proxy": P}, False, THROUGH_P),
    ({"all_proxy": P}, True, THROUGH_P),
    ({"ALL_PROXY": P}, False, THROUGH_P),
    ({"ALL_PROXY": P}, True, THROUGH_P),
    ({"ALL_PROXY": OTHER, "all_proxy": P}, False, THROUGH_P),
    ({"http_proxy": P, "all_proxy": OTHER}, False, THROUGH_P),
    ({"http_proxy": "", "ALL_PROXY": P}, False, THROUGH_P),
    ({"http_proxy": P, "no_proxy": "a.test"}, False, None),
    ({"http_proxy": P, "NO_PROXY": "a.test"}, False, None),
    ({"http_proxy": P, "NO_PROXY": "a.test", "no_proxy": ""}, False, None),
    ({"http_proxy": P, "NO_PROXY": "a.test", "no_proxy": "b.test"}, False, THROUGH_P),
    ({"http_proxy": P, "NO_PROXY": "b.test", "no_proxy": "a.test"}, False, None),
    ({"HTTPS_PROXY": P, "NO_PROXY": "a.test"}, True, None),
]


@pytest.mark.parametrize(("environment", "secure", "expected"), PROXIES)
def test_proxy_of_the_environment(
    environment: dict[str, str], secure: bool, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variables of v1 apply, in either case, except HTTP_PROXY in upper case."""
    # docs/v1-behaviour.md §10.1
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    proxy = settings.proxy_for("a.test", secure)
    assert (proxy and proxy[:3]) == expected
    assert proxy is None or environment[proxy.variable] == P


#: no_proxy, a host, and whether the host is reached without the proxy: as in the genuine client.
EXCEPTIONS = [
    ("*", "a.test", True),
    ("b.test,*", "a.test", False),
    (" *", "a.test", False),
    ("*.test", "a.test", False),
    ("a.test", "a.test", True),
    ("A.Test", "a.test", True),
    ("a.test", "A.Test", True),
    (".a.test", "a.test", True),
    (".test", "a.test", True),
    ("test", "a.test", True),
    ("est", "a.test", False),
    ("..test", "a.test", False),
    ("a.test", "xa.test", False),
    ("x.a.test", "a.test", False),
    ("a.test:80", "a.test", False),
    ("a.test.", "a.test", False),
    ("a.test", "a.test.", False),
    ("a.test.", "a.test.", True),
    ("b.test a.test", "a.test", True),
    ("b.test, a.test", "a.test", True),
    ("b.test,,a.test", "a.test", True),
    ("b.test\ta.test", "a.test", False),
    ("b.test;a.test", "a.test", False),
    ("a.test\n", "a.test", False),
    ("localhost", "127.0.0.1", False),
    ("127.0.0.1", "127.0.0.1", True),
    ("127.", "127.0.0.1", False),
    ("0.0.1", "127.0.0.1", True),
    ("127.0.0.0/8", "127.0.0.1", False),
    ("::1", "::1", True),
    ("[::1]", "::1", False),
    ("0:0:0:0:0:0:0:1", "::1", False),
]


@pytest.mark.parametrize(("exceptions", "host", "is_excepted"), EXCEPTIONS)
def test_no_proxy(
    exceptions: str, host: str, is_excepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry of no_proxy is a host or a domain above the host; a lone '*' is every host."""
    # docs/v1-behaviour.md §10.1
    monkeypatch.setenv("http_proxy", P)
    monkeypatch.setenv("no_proxy", exceptions)
    assert (settings.proxy_for(host, False) is None) is is_excepted


@pytest.mark.parametrize("name", ["all_proxy", "ALL_PROXY"])
def test_proxy_that_is_not_spoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SOCKS proxy is refused with an alternative, without its password."""
    monkeypatch.setenv(name, "socks5://u:secret@p:1")
    with pytest.raises(SettingsError, match=f"{name}.*in no_proxy") as caught:
        settings.proxy_for("a", False)
    assert "secret" not in str(caught.value)

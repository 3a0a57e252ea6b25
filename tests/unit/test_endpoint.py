"""url and protocol arguments (docs/v1-behaviour.md §1.5, §3.1)."""

from __future__ import annotations

from ctypes import ArgumentError

import pytest

from tensorrtserver.api import ProtocolType
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.translate.constructors import parse_url, protocol_of


@pytest.mark.parametrize("protocol", [HTTP, GRPC])
@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("host:8000", False),
        (b"host:8000", False),
        ("http://host:8000", False),
        ("HTTP://host:8000", False),
        ("https://host:8000", True),
        (b"https://host:8000/", True),
        ("grpc://host:8000", False),
        ("grpcs://host:8000/", True),
        (" host:8000\n", False),
    ],
)
def test_scheme(url: str | bytes, secure: bool, protocol: str) -> None:
    """A url is str or bytes, with or without a scheme; https and grpcs mean TLS."""
    # docs/v1-behaviour.md §3.1
    assert parse_url(url, protocol) == Endpoint(protocol, "host:8000", secure)


def test_path_prefix() -> None:
    """An HTTP url may have a path prefix. A trailing slash means nothing."""
    # docs/v1-behaviour.md §3.1
    assert parse_url("http://host:80/triton/a/", HTTP).address == "host:80/triton/a"


@pytest.mark.parametrize("url", ["", " ", "not a host", "http://", "[::1]:8000", "ünï:1", b"\xff"])
def test_text_is_never_refused(url: str | bytes) -> None:
    """The first call reports an empty or malformed url, not its parsing."""
    # docs/v1-behaviour.md §3.1
    assert isinstance(parse_url(url, HTTP).address, str)


def test_no_text() -> None:
    """None is a client error (v1 aborted). Other types raise ctypes' error with their position."""
    # docs/v1-behaviour.md §3.1, §1.6
    with pytest.raises(InferenceServerException, match="url must be str or bytes") as caught:
        parse_url(None, HTTP)
    assert (caught.value.server_id(), caught.value.request_id()) == ("", 0)
    with pytest.raises(ArgumentError, match="^argument 2: .*has no attribute 'encode'"):
        parse_url(8000, HTTP)


@pytest.mark.parametrize(
    ("value", "protocol"),
    [
        (0, HTTP),
        (1, GRPC),
        (False, HTTP),
        (True, GRPC),
        (1.0, GRPC),
        ("0", HTTP),
        (ProtocolType.GRPC, GRPC),
    ],
)
def test_protocol_goes_through_int(value: object, protocol: str) -> None:
    """A protocol is any value that int() reads as 0 or 1 (docs/v1-behaviour.md §1.5)."""
    assert protocol_of(value) == protocol


@pytest.mark.parametrize("value", [2, -1, "7"])
def test_other_protocol_numbers(value: object) -> None:
    """Another int is a client error with v1's text (docs/v1-behaviour.md §1.5)."""
    with pytest.raises(InferenceServerException) as caught:
        protocol_of(value)
    assert str(caught.value) == (
        "[ 0] unexpected protocol integer, expecting 0 for HTTP or 1 for gRPC"
    )


def test_protocol_no_int() -> None:
    """Values that int() refuses raise its own errors (docs/v1-behaviour.md §1.5)."""
    with pytest.raises(ValueError, match=r"invalid literal for int\(\) with base 10: 'http'"):
        protocol_of("http")
    with pytest.raises(TypeError, match=r"^int\(\) argument must be a string, .* not 'NoneType'$"):
        protocol_of(None)

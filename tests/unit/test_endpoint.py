"""url and protocol arguments (docs/v1-behaviour.md §1.5, §3.1)."""

from __future__ import annotations

import pytest

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.translate.constructors import parse_url, protocol_of


@pytest.mark.parametrize("protocol", [HTTP, GRPC])
@pytest.mark.parametrize(
    ("url", "secure"),
    [
        ("host:8000", False),
        ("http://host:8000", False),
        ("HTTP://host:8000", False),
        ("https://host:8000", True),
        ("grpc://host:8000", False),
        ("grpcs://host:8000/", True),
        (" host:8000\n", False),
    ],
)
def test_scheme(url: str, secure: bool, protocol: str) -> None:
    """A url has a scheme or none; https and grpcs mean TLS."""
    # docs/v1-behaviour.md §3.1
    assert parse_url(url, protocol) == Endpoint(protocol, "host:8000", secure)


@pytest.mark.parametrize("value", [2, -1])
def test_other_protocol_numbers(value: int) -> None:
    """Another int is a client error with v1's text (docs/v1-behaviour.md §1.5)."""
    with pytest.raises(InferenceServerException) as caught:
        protocol_of(value)
    assert str(caught.value) == (
        "[ 0] unexpected protocol integer, expecting 0 for HTTP or 1 for gRPC"
    )

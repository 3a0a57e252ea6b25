"""url, protocol, http_headers and texts (docs/v1-behaviour.md §1.5, §3.1, §6.6, §2.3)."""

from __future__ import annotations

from ctypes import ArgumentError
from typing import Any

import pytest

from tritonclient_shim.core import arguments
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import GRPC, HTTP, Endpoint
from tritonclient_shim.translate.constructors import (
    check_headers,
    parse_headers,
    parse_url,
)


@pytest.mark.parametrize(
    ("entries", "pairs"),
    [
        *[(None, ()), ([], ()), ((), ()), ("", ()), (b"", ())],
        (("X-A:1", b"X-B:2"), (("X-A", "1"), ("X-B", "2"))),  # bytes of 1.4 to 1.10
        (["X-A: a:b ", "X-B:  "], (("X-A", " a:b "), ("X-B", ""))),
        (["X-A:1", "x-a:2", "X-A:3"], (("X-A", "3"), ("x-a", "2"))),
    ],
)
def test_accepted(entries: Any, pairs: tuple[tuple[str, str], ...]) -> None:
    """Headers are split at the first colon and sorted. The last of a name wins."""
    # docs/v1-behaviour.md §6.6, §2.3
    assert parse_headers(entries) == pairs


@pytest.mark.parametrize(
    "entry", ["X-A", ":1", " :1", "", b"X-A", "X-A:1\r\nX-B:2", "X\0:1", "X A:1"]
)
def test_unusable_entry(entry: object) -> None:
    """A header without colon and a header with a line break are refused."""
    # docs/v1-behaviour.md §6.6
    with pytest.raises(InferenceServerException, match="HTTP header") as caught:
        parse_headers([entry])
    assert (caught.value.server_id(), caught.value.request_id()) == ("", 0)


@pytest.mark.parametrize(
    "entry", ["Authorization: Bearer s3cret\n", "Authorization Bearer s3cret", "A\0b: s3cret"]
)
def test_refused_without_its_value(entry: str) -> None:
    """The message about a refused header has its name, and not its value, which may be a token."""
    with pytest.raises(InferenceServerException, match="HTTP header 'A") as caught:
        parse_headers([entry])
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("entries", ["X-A:1", b"X-A:1"])
def test_one_text(entries: object) -> None:
    """A plain str, which v1 read letter by letter, is refused with what to give instead."""
    # docs/v1-behaviour.md §6.6
    check_headers(entries)
    with pytest.raises(InferenceServerException, match="expected a list of 'Name:Value' entries"):
        parse_headers(entries)


@pytest.mark.parametrize("entries", [[5], [("X-A", "1")], ["A:B", None]])
def test_wrong_type(entries: list[object]) -> None:
    """An entry that is no text raises AttributeError, also where none is sent."""
    # docs/v1-behaviour.md §6.6
    with pytest.raises(AttributeError, match="object has no attribute 'encode'"):
        check_headers(entries)


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


# docs/v1-behaviour.md §3.9, §7.1
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (5, "<class 'AttributeError'>: 'int' object has no attribute 'encode'"),
        ("\ud800", "<class 'UnicodeEncodeError'>: 'utf-8' codec can't encode character"),
    ],
)
def test_what_is_no_text(value: Any, reason: str) -> None:
    """Invalid names of inputs, regions and models raise ctypes' error, with their position."""
    for convert in (
        lambda: arguments.text(value, "an input name", 3),
        lambda: arguments.c_string(value, 3),
        lambda: arguments.model_name(value, 3),
    ):
        with pytest.raises(ArgumentError) as caught:
            convert()
        assert str(caught.value).startswith(f"argument 3: {reason}")


def test_model_names_are_taken_whole() -> None:
    """A model's name in control and status calls keeps its NULs, because it was no C string."""
    assert arguments.model_name("a\0b", 2) == arguments.model_name(b"a\0b", 2) == "a\0b"
    assert arguments.model_name(b"\xff", 2) == "\ufffd"
    with pytest.raises(InferenceServerException, match="model_name must be text, got None"):
        arguments.model_name(None, 2)
    with pytest.raises(ArgumentError, match="argument 6: <class 'AttributeError'>: 'int' object"):
        arguments.model_name(5, 6)

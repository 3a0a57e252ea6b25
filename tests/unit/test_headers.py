"""http_headers arguments (docs/v1-behaviour.md §6.6, §2.3)."""

from __future__ import annotations

from typing import Any

import pytest

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import GRPC
from tritonclient_shim.translate.constructors import parse_headers, refuse_reserved


@pytest.mark.parametrize(
    ("entries", "pairs"),
    [
        *[(None, ()), ([], ()), ((), ()), ("", ()), (b"", ())],
        (("X-A:1", b"X-B:2"), (("X-A", "1"), ("X-B", "2"))),  # bytes of 1.4 to 1.10
        (["X-A: a:b "], (("X-A", " a:b "),)),
        (["X-A:1", "x-a:2", "X-A:3"], (("X-A", "3"), ("x-a", "2"))),
        (["b:1", "a:1", "C:1"], (("C", "1"), ("a", "1"), ("b", "1"))),
        *[(["X-A:"], ()), (["X-A:  "], ()), (["X-A:1", "X-A:"], ())],
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
    with pytest.raises(InferenceServerException, match="expected a list of 'Name:Value' entries"):
        parse_headers(entries)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("entries", [[5], [("X-A", "1")], ["A:B", None]])
def test_wrong_type(entries: list[object], protocol: str) -> None:
    """Every entry is encoded, also if it is not sent (docs/v1-behaviour.md §6.6)."""
    with pytest.raises(AttributeError, match="object has no attribute 'encode'"):
        parse_headers(entries, protocol)


def test_grpc_ignores_headers() -> None:
    """gRPC ignores headers of any value (docs/v1-behaviour.md §6.6)."""
    assert parse_headers(["X-A:1"], GRPC) == parse_headers("garbage", GRPC) == ()


def test_reserved_name() -> None:
    """Header NV-InferRequest is refused with v1's text, in exactly this case."""
    # docs/v1-behaviour.md §3.1
    with pytest.raises(InferenceServerException) as caught:
        refuse_reserved(parse_headers(["NV-InferRequest:x"]))
    assert caught.value.message() == "HTTP header 'NV-InferRequest' cannot be set"
    refuse_reserved(parse_headers(["nv-inferrequest:x", "NV-InferRequest:"]))

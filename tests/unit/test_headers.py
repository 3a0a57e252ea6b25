"""http_headers arguments (v1 §6.6, §2.3)."""

from __future__ import annotations

import pytest

from tritonclient_shim.errors import InferenceServerException
from tritonclient_shim.model import GRPC
from tritonclient_shim.translate.headers import parse_headers, refuse_reserved


@pytest.mark.parametrize("nothing", [None, [], (), "", b""])
def test_no_headers(nothing: object) -> None:
    """§2.3 http_headers: None, [], () and "" are no headers."""
    assert parse_headers(nothing) == ()


def test_str_and_bytes() -> None:
    """§2.3 http_headers: str of 1.11 and later, bytes of 1.4 to 1.10, in one list or tuple."""
    assert parse_headers(("X-A:1", b"X-B:2")) == (("X-A", "1"), ("X-B", "2"))


def test_first_colon_splits() -> None:
    """§6.6: split at the first colon, the value may contain colons and keeps its spaces."""
    assert parse_headers(["X-A: a:b "]) == (("X-A", " a:b "),)


def test_last_of_a_name_wins() -> None:
    """§6.6: same name twice, the last wins; names differing in case are two."""
    headers = parse_headers(["X-A:1", "x-a:2", "X-A:3"])
    assert headers == (("X-A", "3"), ("x-a", "2"))


def test_sorted_by_name() -> None:
    """§6.6: sent sorted by name, capitals first."""
    assert [name for name, _ in parse_headers(["b:1", "a:1", "C:1"])] == ["C", "a", "b"]


@pytest.mark.parametrize("entries", [["X-A:"], ["X-A:  "], ["X-A:1", "X-A:"]])
def test_empty_value(entries: list[str]) -> None:
    """§6.6: an entry with an empty value is not sent, and hides an earlier one."""
    assert parse_headers(entries) == ()


@pytest.mark.parametrize(
    "entry", ["X-A", ":1", " :1", "", b"X-A", "X-A:1\r\nX-B:2", "X\0:1", "X A:1"]
)
def test_unusable_entry(entry: object) -> None:
    """§6.6: no colon ended the process, a line break smuggled in a header: both refused."""
    with pytest.raises(InferenceServerException, match="HTTP header") as caught:
        parse_headers([entry])
    assert (caught.value.server_id(), caught.value.request_id()) == ("", 0)


@pytest.mark.parametrize("entries", ["X-A:1", b"X-A:1"])
def test_one_text(entries: object) -> None:
    """§6.6: a plain str was read letter by letter; the error says what to give instead."""
    with pytest.raises(InferenceServerException, match="expected a list of 'Name:Value' entries"):
        parse_headers(entries)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("entries", [[5], [("X-A", "1")], ["A:B", None]])
def test_wrong_type(entries: list[object], protocol: str) -> None:
    """§6.6: every entry was encoded, also where none is sent."""
    with pytest.raises(AttributeError, match="object has no attribute 'encode'"):
        parse_headers(entries, protocol)


def test_grpc_ignores_headers() -> None:
    """§6.6: ignored for gRPC, whatever they are."""
    assert parse_headers(["X-A:1"], GRPC) == parse_headers("garbage", GRPC) == ()


def test_reserved_name() -> None:
    """§3.1 header NV-InferRequest: refused with v1's text, in exactly this case."""
    with pytest.raises(InferenceServerException) as caught:
        refuse_reserved(parse_headers(["NV-InferRequest:x"]))
    assert caught.value.message() == "HTTP header 'NV-InferRequest' cannot be set"
    refuse_reserved(parse_headers(["nv-inferrequest:x", "NV-InferRequest:"]))

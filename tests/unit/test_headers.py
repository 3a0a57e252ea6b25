"""http_headers arguments (docs/v1-behaviour.md §6.6, §2.3)."""

from __future__ import annotations

import pytest

from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.translate.constructors import check_headers, parse_headers


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

"""String tensors: serialize_string_tensor and the wire form (docs/v1-behaviour.md §3.6)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.utils import serialize_byte_tensor

from tritonclient_shim.core import byte_strings
from tritonclient_shim.translate import request


def wire(*elements: bytes) -> bytes:
    return b"".join(struct.pack("<I", len(element)) + element for element in elements)


@given(st.lists(st.binary(max_size=300)))
def test_there_and_back(elements: list[bytes]) -> None:
    """Any bytes survive the wire form, which is KServe v2's."""
    # docs/v1-behaviour.md §3.6
    array = np.empty(len(elements), object)
    array[:] = elements
    data = request.serialize(array)
    assert data == wire(*elements)
    assert byte_strings.deserialize(data) == elements
    assert byte_strings.wire_length(data + b"rest", len(elements)) == len(data)
    if elements:
        assert data == serialize_byte_tensor(array).item()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_text(elements: list[str]) -> None:
    """str elements and U arrays become UTF-8 (docs/v1-behaviour.md §3.6)."""
    array = np.array(elements, object)
    assert request.serialize(array) == wire(*(text.encode() for text in elements))
    fixed = np.array(elements)
    assert request.serialize(fixed) == wire(*(str(text).encode() for text in fixed))


@pytest.mark.parametrize(
    "data", [b"\1", b"\1\0\0", b"\2\0\0\0a", wire(b"ab") + b"\0", b"\xff\xff\xff\xffx"]
)
def test_malformed(data: bytes) -> None:
    """Lengths that do not add up are a ValueError, never a read beyond the end."""
    # docs/v1-behaviour.md §4.1
    with pytest.raises(ValueError, match="malformed string tensor"):
        byte_strings.deserialize(data)
    with pytest.raises(ValueError, match="malformed string tensor"):
        byte_strings.wire_length(data, 2)


def test_runs_of_equal_lengths_are_exact() -> None:
    """Any mixture of lengths comes back unchanged, although equal lengths are read together."""
    mixture = [b""] * 20 + [b"ab"] * 9 + [b"a\0b"] * 2000 + [b"\xff"] + [b"cd"] * 8 + [b""]
    for values in (mixture, mixture[::-1], [b"same"] * 3000, [b"x" * (i % 5) for i in range(500)]):
        array = np.array(values, dtype=object)
        assert byte_strings.deserialize(request.serialize(array)) == values


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 7])
def test_a_run_that_is_cut_short_is_refused(cut: int) -> None:
    """A string tensor that ends inside an element is malformed, also after equal elements."""
    whole = request.serialize(np.array([b"same"] * 100, dtype=object))
    with pytest.raises(ValueError, match="malformed string tensor"):
        byte_strings.deserialize(whole[:-cut])
    with pytest.raises(ValueError, match="malformed string tensor"):
        byte_strings.wire_length(whole[:-cut], 100)

"""Arguments of any type, value and size."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy


class _Index:
    """An object that claims to be an integer, but returns none."""

    def __index__(self) -> int:
        return "1"  # type: ignore[return-value]

    __int__ = __index__


_BOUNDS = [2**power + offset for power in (8, 31, 32, 63, 64) for offset in (-1, 0)]
#: Integers, among them the bounds of the integer widths in the two protocols.
numbers = st.integers() | st.sampled_from([*_BOUNDS, *(-item for item in _BOUNDS), 10**400])

TEXTS = [
    *("", " ", "0", "-1", "1e3", "²", "INPUT0", "\0", "a\0b", "\r\nX: y", "\ud800", "😀"),
    *("../..", "/", "//", "a/b", ".", "..", "%00", "%2e%2e", "?a=b", "#", "x" * 300, "x" * 70_000),
    *("{}", "[]", "$(x)", "\u202e", "name: value", ":", "a:b:c"),
]
texts = st.sampled_from(TEXTS) | st.text(max_size=20)
byte_strings = st.binary(max_size=20) | st.sampled_from([b"INPUT0", b"\xff\xfe", bytes(70_000)])

_OBJECTS = [
    *(Ellipsis, object(), int, np, len, _Index(), ValueError("x"), range(3), bytearray(b"x")),
    *(memoryview(b"abc"), np.int32(1), np.uint64(2**64 - 1), np.float32(1), np.str_("x")),
    # not np.ma.masked: its int() raises an exception of NumPy's own
    *(np.datetime64("nat", "s"), ctypes.c_int(1), ctypes.c_void_p(12_345), ctypes.py_object(1)),
]
_plain = st.none() | st.booleans() | st.floats() | st.complex_numbers() | st.decimals()
leaves = numbers | texts | byte_strings | _plain | st.sampled_from(_OBJECTS)

_dtypes = st.one_of(
    of_numpy.scalar_dtypes(),
    st.sampled_from(["O", "S3", "U3", "V4", "g", "i4,f4", "3i4"]).map(np.dtype),
)
_shapes = of_numpy.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=17)
_LAYOUTS = [
    *(lambda array: array, lambda array: array.T, lambda array: array.tolist()),
    lambda array: array[..., ::2] if array.ndim else array,
    lambda array: np.broadcast_to(array, (3, *array.shape)),
    lambda array: np.ma.masked_array(array),
]


@st.composite
def _arrays(draw: Any) -> Any:
    """Draw a NumPy array of any data type and layout, with equal elements."""
    array: Any = np.zeros(draw(_shapes), draw(_dtypes))
    if array.dtype == object:
        array.fill(draw(leaves))
    return draw(st.sampled_from(_LAYOUTS))(array)


arrays = _arrays()
_keys = texts | byte_strings | st.integers() | st.none()
#: Any value, nested or not.
anything = st.one_of(
    leaves,
    arrays,
    st.recursive(
        leaves | arrays,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(_keys, inner, max_size=3)
            | st.lists(inner, max_size=2).map(iter)
        ),
        max_leaves=4,
    ),
)


def mostly(good: Any, other: Any = anything) -> Any:
    """Draw a good value most times, else any other value, so that single arguments are wrong."""
    return st.one_of(good, good, good, other)

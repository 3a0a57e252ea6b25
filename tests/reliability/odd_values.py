"""Arguments of any type, value and size, as hypothesis makes them."""

from __future__ import annotations

import ctypes
import datetime
import decimal
import enum
import fractions
import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as st


class _Number(int):
    """A subclass of int."""


class _Text(str):
    """A subclass of str."""


class _Choice(enum.IntEnum):
    """An integer with a name."""

    ONE = 1


class _Index:
    """An object that claims to be an integer, but returns none."""

    def __index__(self) -> int:
        return "1"  # type: ignore[return-value]

    __int__ = __index__


class _Sized:
    """A sequence whose length is wrong."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, place: int) -> int:
        if place > 1:
            raise IndexError(place)
        return place


#: Numbers at the edges of the integer widths in the two protocols.
NUMBERS = [
    *(0, 1, -1, 2, 3, 7, 8, 9, 255, 256, 65_535, 1_000_000),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, 10**400),
    *(-2, -(2**31), -(2**31) - 1, -(2**63), -(2**63) - 1, -(2**64), -(10**400)),
]
TEXTS = [
    *("", " ", "x", "0", "1", "-1", "1e3", "²", "None", "INPUT0", "\0", "a\0b", "\r\nX: y", "é"),
    *("\ud800", "😀", "../..", "/", "//", "a/b"),
    *(".", "..", "%00", "%2e%2e", "?a=b", "#", "x" * 300),
    *("{}", "[]", "$(x)", "\x7f", "\u202e", "name: value", ":", "a:b:c", _Text("x")),
]
BYTES = [b"", b"x", b"\0", b"\xff\xfe", b"INPUT0", "é".encode()]
_OTHER = [
    *(None, True, False, Ellipsis, NotImplemented, object(), object, int, np, len, print),
    *(1.0, 1.5, -0.0, float("nan"), float("inf"), 1e400, 1j, decimal.Decimal("NaN")),
    *(fractions.Fraction(1, 3), datetime.timedelta(1), _Number(1), _Choice.ONE, _Index()),
    *(_Sized(), range(3), slice(1), bytearray(b"x"), memoryview(b"abc"), frozenset({1})),
    *(np.int32(1), np.uint64(2**64 - 1), np.float32(1), np.str_("x")),
    # not np.ma.masked: its int() raises an exception of NumPy's own
    *(np.datetime64("nat", "s"), ctypes.c_int(1), ctypes.c_void_p()),
    *(ctypes.c_void_p(12_345), ctypes.c_void_p(2**64 - 8), ctypes.py_object(1), ValueError("x")),
]  # fmt: skip

numbers = st.sampled_from(NUMBERS) | st.integers()
_sizes = st.sampled_from([300, 70_000])
texts = st.sampled_from(TEXTS) | st.text(max_size=20) | _sizes.map("x".__mul__)
byte_strings = st.sampled_from(BYTES) | st.binary(max_size=20) | _sizes.map(bytes)

_DTYPES = [
    *("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "g"),
    *("S", "S3", "U", "U3", "O", "M8[ns]", "m8[s]", "V4", ">i4", ">f4", "i4,f4", "3i4"),
]
_SHAPES = [(), (0,), (1,), (2,), (15,), (16,), (17,), (2, 8), (16, 1), (1, 16), (0, 16), (1,) * 9]


@st.composite
def arrays(draw: Any) -> Any:
    """Return NumPy arrays of any data type and layout."""
    dtype, shape = draw(st.sampled_from(_DTYPES)), draw(st.sampled_from(_SHAPES))
    result: Any = np.zeros(shape, dtype)
    if dtype == "O" and result.size:
        result = result.reshape(-1)
        result[draw(st.integers(0, result.size - 1))] = draw(leaves)
        result = result.reshape(shape)
    return draw(st.sampled_from(_LAYOUTS))(result)


def _read_only(array: Any) -> Any:
    array.setflags(write=False)
    return array


_LAYOUTS = [
    lambda array: array,
    lambda array: array.T,
    lambda array: array[..., ::-1] if array.ndim else array,
    lambda array: array[..., ::2] if array.ndim else array,
    lambda array: np.broadcast_to(array, (3, *array.shape)),
    lambda array: np.ma.masked_array(array),
    lambda array: array.view(np.recarray),
    lambda array: array.tolist(),
    _read_only,
]

leaves = st.one_of(numbers, texts, byte_strings, st.floats(), st.sampled_from(_OTHER))
_keys = st.one_of(texts, byte_strings, st.integers(), st.none(), st.tuples(texts))

#: Any value, nested or not.
anything = st.one_of(
    leaves,
    arrays(),
    st.recursive(
        leaves | arrays(),
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


def _has_truth(value: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return bool(value) in (True, False)
        except Exception:
            return False


#: Values of a flag: anything that ``bool()`` takes.
with_truth = anything.filter(_has_truth)

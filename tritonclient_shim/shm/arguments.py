"""What the functions for shared memory make of their arguments (docs/v1-behaviour.md §7.1)."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import numpy as np

from tritonclient_shim.core import texts
from tritonclient_shim.shm.region import RegionError


def text(position: int, value: Any) -> str:
    """str or bytes → the str that C saw; ctypes.ArgumentError for everything else.

    A file's name may be any bytes: those that are not UTF-8 come back as they were.
    """
    return texts.c_string(value, position, "surrogateescape")


def uint64(position: int, value: Any) -> int:
    """Integer → itself modulo 2**64, as C takes it; ctypes.ArgumentError for float, str, None."""
    return ctypes.c_uint64(_integer(position, value)).value


def int32(position: int, value: Any) -> int:
    """Integer → itself wrapped to 32 bits, as C takes it; ctypes.ArgumentError otherwise."""
    return ctypes.c_int32(_integer(position, value)).value


def _integer(position: int, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise texts.refusal(position, TypeError("wrong type")) from None


def as_buffer(array: np.ndarray) -> memoryview:
    """ndarray → its memory as bytes in C order, copied only where it is not contiguous.

    Every fixed-size dtype is taken as it lies in memory: ``S`` elements with their NUL
    padding (so the result of ``serialize_string_tensor`` is exact), ``U`` as UTF-32.
    RegionError for object arrays.
    """
    # v1 copied the pointers of an object array into the region, which no server can use
    # (docs/v1-behaviour.md §7.1).
    if array.dtype.hasobject:
        raise RegionError(
            f"an array of dtype {array.dtype} cannot be put into shared memory as it is; "
            f"for a string tensor pass serialize_string_tensor(array), else convert the array "
            f"to a numeric dtype"
        )
    if not array.nbytes:
        return memoryview(b"")
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data

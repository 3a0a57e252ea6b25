"""What v1's C signatures made of their Python arguments (docs/v1-behaviour.md §7.1, run on the 1.11
wheel).
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any

from tritonclient_shim.core import texts


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

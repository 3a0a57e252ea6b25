"""What v1's C signatures made of their Python arguments (docs/v1-behaviour.md §7.1, run on the 1.11
wheel).
"""

from __future__ import annotations

import ctypes
import operator
from typing import Any


def text(position: int, value: Any) -> str:
    """str or bytes → the str that C saw; ctypes.ArgumentError for everything else."""
    try:
        encoded = value if isinstance(value, bytes) else value.encode("utf-8")
    except (AttributeError, UnicodeEncodeError) as error:
        raise _refusal(position, error) from error
    # A C string ends at its first NUL byte; so did v1's names and keys (docs/v1-behaviour.md §7.1).
    seen: str = encoded.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
    return seen


def uint64(position: int, value: Any) -> int:
    """Integer → itself modulo 2**64, as C takes it; ctypes.ArgumentError for float, str, None."""
    return ctypes.c_uint64(_integer(position, value)).value


def int32(position: int, value: Any) -> int:
    """Integer → itself wrapped to 32 bits, as C takes it; ctypes.ArgumentError otherwise."""
    return ctypes.c_int32(_integer(position, value)).value


def _integer(position: int, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError as error:
        raise _refusal(position, TypeError("wrong type")) from error


def _refusal(position: int, error: Exception) -> ctypes.ArgumentError:
    return ctypes.ArgumentError(f"argument {position}: {type(error)}: {error}")

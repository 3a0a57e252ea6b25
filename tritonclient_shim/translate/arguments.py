"""Numbers and texts among the arguments of the legacy calls, converted as by v1's C layer."""

from __future__ import annotations

import operator
from typing import Any

from tritonclient_shim.core import texts
from tritonclient_shim.core.errors import ArgumentError, InferenceServerException

UINT32 = 2**32 - 1
UINT64 = 2**64 - 1


def unsigned(value: Any, mask: int, position: int) -> int:
    """Integer-like value → unsigned number modulo its C width (docs/v1-behaviour.md §3.9).

    bools and NumPy integers are integers; everything else raises ``ctypes.ArgumentError``
    naming the ``position`` the argument had in v1's C call.
    """
    if type(value) is int:
        return value & mask
    try:
        return operator.index(value) & mask
    except TypeError:
        raise wrong_type(position) from None


def signed64(value: Any, position: int) -> int:
    """Integer-like value → number in the range of int64, wrapped like a C conversion."""
    number = unsigned(value, UINT64, position)
    return number - 2**64 if number > 2**63 - 1 else number


def class_count(value: Any) -> int:
    """k of ``(CLASS, k)`` → unsigned 32-bit count; -1 means all classes
    (docs/v1-behaviour.md §3.8).
    """
    if isinstance(value, float):
        raise TypeError("int expected instead of float")
    try:
        return operator.index(value) & UINT32
    except TypeError:
        name = type(value).__name__
        raise TypeError(f"an integer is required (got type {name})") from None


def text(value: Any, what: str, position: int, errors: str = "strict") -> str:
    """str or UTF-8 bytes → str up to the first NUL, where C strings end.

    Everything else is refused as by :func:`texts.c_string`, except None, which ended v1's process
    (docs/v1-behaviour.md §E.6) and is an InferenceServerException that names ``what``.
    """
    if type(value) is str and value.isascii() and "\0" not in value:
        return value
    if value is None:
        raise InferenceServerException(f"{what} must be str or bytes, got None")
    return texts.c_string(value, position, errors)


def model_name(value: Any, position: int) -> str:
    """The name of a model to load, unload or ask for → its text, NULs included.

    Everything but text is refused as by :func:`text`.
    """
    if value is None:
        raise InferenceServerException("model_name must be text, got None")
    if not isinstance(value, (str, bytes)):
        name = type(value).__name__
        cause = AttributeError(f"'{name}' object has no attribute 'encode'")
        raise texts.refusal(position, cause)
    return texts.whole(value)


def wrong_type(position: int) -> ArgumentError:
    """The error ctypes raised for an argument of the wrong type."""
    return texts.refusal(position, TypeError("wrong type"))

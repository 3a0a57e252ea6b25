"""Arguments of legacy calls → numbers and texts, as v1's C layer converted them
(docs/v1-behaviour.md §3.9, §7.1).

``position`` is the place of an argument in v1's C call. ``ctypes.ArgumentError`` names it.
"""

from __future__ import annotations

import operator
from ctypes import ArgumentError as ArgumentError  # contexts compare with it
from ctypes import c_void_p
from typing import Any, Mapping, NamedTuple

UINT32 = 2**32 - 1
UINT64 = 2**64 - 1


class RunArguments(NamedTuple):
    """The arguments of ``run`` and ``async_run``, as the caller passed them."""

    inputs: Mapping[Any, Any]
    outputs: Mapping[Any, Any]
    batch_size: Any
    flags: Any
    correlation_id: Any
    priority: Any
    timeout_us: Any


def unsigned(value: Any, largest: int, position: int) -> int:
    """Return an integer modulo the width of a C type: UINT32 or UINT64.

    Accept bools and NumPy's integers. Raise ctypes.ArgumentError for everything else.
    """
    if type(value) is int:
        return value & largest
    try:
        return operator.index(value) & largest
    except TypeError:
        raise refusal(position, TypeError("wrong type")) from None


def signed(value: Any, largest: int, position: int) -> int:
    """Return an integer, wrapped into the signed C type of that width."""
    number = unsigned(value, largest, position)
    return number - largest - 1 if number > largest >> 1 else number


def is_handle(value: Any) -> bool:
    """True if this is a shared-memory handle: a ``c_void_p`` and no subclass of it
    (docs/v1-behaviour.md §7.4).
    """
    return type(value) is c_void_p


def class_count(value: Any) -> int:
    """Return k of ``(CLASS, k)`` modulo 2**32; -1 means all classes (docs/v1-behaviour.md §3.8)."""
    if isinstance(value, float):
        raise TypeError("int expected instead of float")
    try:
        return operator.index(value) & UINT32
    except TypeError:
        name = type(value).__name__
        raise TypeError(f"an integer is required (got type {name})") from None


def text(value: Any, what: str, position: int, errors: str = "strict") -> str:
    """Return a C string as str; see :func:`c_string`.

    Raise InferenceServerException for None, where v1's process ended (docs/v1-behaviour.md §E.6).
    """
    if type(value) is str and value.isascii() and "\0" not in value:
        return value
    _refuse_none(value, f"{what} must be str or bytes")
    return c_string(value, position, errors)


def c_string(value: Any, position: int, errors: str = "surrogateescape") -> str:
    """Return str or UTF-8 bytes as str, up to the first NUL, where C strings end.

    ``errors`` is that of ``bytes.decode``. By default bytes that are not UTF-8 survive, because
    names of files may have them. Raise ctypes.ArgumentError for everything that is no text.
    """
    decoded: str = _encoded(value, position).partition(b"\0")[0].decode("utf-8", errors)
    return decoded


def model_name(value: Any, position: int) -> str:
    """Return the name of a model to load, to unload or to ask about, its NULs included."""
    _refuse_none(value, "model_name must be text")
    return whole(_encoded(value, position))


def _encoded(value: Any, position: int) -> bytes:
    """Return text as UTF-8. Raise ctypes.ArgumentError for everything else, lone surrogates too."""
    try:
        encoded: bytes = value if isinstance(value, bytes) else value.encode("utf-8")
    except (AttributeError, UnicodeEncodeError) as cause:
        raise refusal(position, cause) from None
    return encoded


def whole(value: str | bytes) -> str:
    """Return str or UTF-8 bytes as str, NULs included; replace bytes that are not UTF-8."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def refusal(position: int, cause: Exception) -> ArgumentError:
    """Return the error that ctypes raised for an argument that it could not convert."""
    return ArgumentError(f"argument {position}: {type(cause)}: {cause}")


def _refuse_none(value: Any, expected: str) -> None:
    if value is None:
        # Here, because an import of the facade's shared-memory modules does not need tritonclient.
        from tritonclient_shim.core.errors import InferenceServerException

        raise InferenceServerException(f"{expected}, got None")

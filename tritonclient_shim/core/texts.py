"""Texts that callers give → ``str``, as v1's client took them (docs/v1-behaviour.md §3.9, §7.1)."""

from __future__ import annotations

from ctypes import ArgumentError
from typing import Any


def c_string(value: Any, position: int, errors: str) -> str:
    """str or UTF-8 bytes → str up to the first NUL, where C strings end.

    ``errors`` says what becomes of bytes that are not UTF-8, as for ``bytes.decode``. Everything
    else raises ``ctypes.ArgumentError`` with the ``position`` the argument had in v1's C call.
    """
    try:
        encoded = value if isinstance(value, bytes) else value.encode("utf-8")
    except (AttributeError, UnicodeEncodeError) as cause:
        raise refusal(position, cause) from None
    text: str = encoded.partition(b"\0")[0].decode("utf-8", errors)
    return text


def whole(value: str | bytes) -> str:
    """str or UTF-8 bytes → str, its NULs included; other bytes are replaced."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def refusal(position: int, cause: Exception) -> ArgumentError:
    """Return what ctypes raised for an argument that it could not convert."""
    return ArgumentError(f"argument {position}: {type(cause)}: {cause}")

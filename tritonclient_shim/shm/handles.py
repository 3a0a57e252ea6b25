"""The one test v1 made of a handle."""

from __future__ import annotations

from ctypes import c_void_p

#: The type of every handle, for annotations.
Handle = c_void_p


def is_handle(value: object) -> bool:
    """Is this a shared-memory handle? Exactly ``c_void_p``, no subclass
    (docs/v1-behaviour.md §7.4).
    """
    return type(value) is c_void_p

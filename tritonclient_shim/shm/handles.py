"""Handles of shared memory: v1's test for one, and what a request needs of the region behind it."""

from __future__ import annotations

from ctypes import c_void_p
from typing import TYPE_CHECKING, Callable, Protocol

if TYPE_CHECKING:  # the facade imports this file at once, and core/model.py only when it is needed
    from tritonclient_shim.core.model import Buffer

#: The type of every handle, for annotations.
Handle = c_void_p


def is_handle(value: object) -> bool:
    """True if this is a shared-memory handle: a ``c_void_p`` and no subclass of it
    (docs/v1-behaviour.md §7.4).
    """
    return type(value) is c_void_p


class ReadableRegion(Protocol):
    """What a request needs of the shared-memory region behind a handle."""

    @property
    def name(self) -> str:
        """Return the name under which it is registered."""

    @property
    def byte_size(self) -> int:
        """Return its size in bytes."""

    def read(self, offset: int, count: int) -> Buffer:
        """Copy ``count`` bytes from ``offset``; raises the region's own exception on failure."""


#: Handle → its region; raises the handle table's own exception for an unknown handle.
LookUp = Callable[[object], ReadableRegion]

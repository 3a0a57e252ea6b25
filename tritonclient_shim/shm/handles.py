"""Handles of shared memory: the one test v1 made of them, and what may stand behind one."""

from __future__ import annotations

from ctypes import c_void_p
from typing import Callable, Protocol

from tritonclient_shim.core.model import Buffer

#: The type of every handle, for annotations.
Handle = c_void_p


def is_handle(value: object) -> bool:
    """Is this a shared-memory handle? Exactly ``c_void_p``, no subclass
    (docs/v1-behaviour.md §7.4).
    """
    return type(value) is c_void_p


class ReadableRegion(Protocol):
    """What a request needs of a shared-memory region that stands behind a handle."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""

    @property
    def byte_size(self) -> int:
        """Its size in bytes."""

    def read(self, offset: int, count: int) -> Buffer:
        """Copy ``count`` bytes from ``offset``; raises an error of its own when it cannot."""


#: A handle → its region; raises an error of its own when it is none of ours.
LookUp = Callable[[object], ReadableRegion]

"""What a shared-memory handle stands for, whichever kind of memory is behind it."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Protocol, Sequence, Union

Buffer = Union[bytes, bytearray, memoryview]

SYSTEM = "system"
CUDA = "cuda"


class RegionError(Exception):
    """A shared-memory operation failed.

    ``code`` is v1's error code where v1 had one (docs/v1-behaviour.md §7.1, §7.2; the facade's
    exception turns it into v1's text) and None where v1 would have crashed or corrupted memory.
    ``str()`` explains in both cases.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def raised_as(exception: Callable[[Any], Exception]) -> Iterator[None]:
    """Turn a RegionError into v1's exception: from its code as a c_int, else from its text."""
    try:
        yield
    except RegionError as error:
        err = str(error) if error.code is None else ctypes.c_int(error.code)
        raise exception(err) from error


class Memory(Protocol):
    """The bytes behind a region. The region has checked the bounds; none of these segfaults."""

    def read(self, offset: int, count: int) -> Buffer:
        """Return a copy of ``count`` bytes, writable where that costs nothing."""

    def write(self, views: Sequence[memoryview]) -> None:
        """Copy the views (of bytes, none empty) one after another, from the beginning."""

    def destroy(self) -> None:
        """Give the region back to the system (v1's destroy)."""


@dataclass(frozen=True)
class Region:
    """One shared-memory region as v1's handle described it (docs/v1-behaviour.md §7.4); sizes in
    bytes.

    ``key`` is '' for CUDA regions; ``device_id`` and ``raw_handle`` (64 bytes, the CUDA IPC
    handle) are None for system regions. ``offset`` is 0 in all versions of v1.
    """

    kind: str  # SYSTEM or CUDA
    name: str
    byte_size: int
    memory: Memory = field(repr=False)
    key: str = ""
    offset: int = 0
    device_id: int | None = None
    raw_handle: bytes | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """The region's size in bytes, as it was created."""
        return self.byte_size

    def read(self, offset: int, count: int) -> Buffer:
        """Return a private copy of ``count`` bytes from ``offset``; RegionError beyond the end."""
        self._check_bounds("read", offset, count)
        return self.memory.read(offset, count) if count else b""

    def write(self, buffers: Sequence[Buffer]) -> None:
        """Copy C-contiguous buffers one after another, from the region's beginning.

        RegionError, with nothing written, when they do not fit.
        """
        views = [memoryview(buffer) for buffer in buffers]
        self._check_bounds("write", 0, sum(view.nbytes for view in views))
        self.memory.write([view.cast("B") for view in views if view.nbytes])

    def _check_bounds(self, action: str, offset: int, count: int) -> None:
        # v1 copied without looking and corrupted memory or segfaulted (docs/v1-behaviour.md §7.1).
        if offset < 0 or count < 0 or offset + count > self.byte_size:
            raise RegionError(
                f"cannot {action} {count} bytes at offset {offset} of shared memory region "
                f"'{self.name}': its size is {self.byte_size} bytes; create a larger region "
                f"or {action} less"
            )

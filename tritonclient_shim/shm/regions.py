"""The base class of shared-memory regions, their one exception, and their handles.

A handle is a ``ctypes.c_void_p``, found by its value. Scripts and the contexts test no more than
``type(handle) == c_void_p`` (docs/v1-behaviour.md §7.4).
A handle's value is no address: it comes from a counter that starts at a random number outside every
user address space. So no value is used twice, and none equals a real pointer or a handle of another
process. A value that is not in the table is refused; none is ever dereferenced.

v1 never freed a handle. Here a region lives until it has been destroyed *and* the handle object
that ``create`` returned no longer exists; until then copies made with ``c_void_p(handle.value)``
work as well.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Sequence, Union
from weakref import WeakValueDictionary

import numpy as np

BytesLike = Union[bytes, bytearray, memoryview]

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


class RaisedAs:
    """Raises a RegionError as v1's exception, made from its code as a c_int or from its text.

    Tracebacks show the RegionError if its text says more, without its frames. Python's development
    mode shows it with its frames and its causes.

    Not a generator: with contextlib the error would refer to itself, and keep a destroyed region's
    memory until the garbage collector comes.
    """

    def __init__(self, exception: Callable[[Any], Exception]) -> None:
        self._exception = exception

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, RegionError):
            err = str(error) if error.code is None else ctypes.c_int(error.code)
            raise self._exception(err) from _shown(error)


def _shown(error: RegionError) -> RegionError | None:
    """Return what a traceback shows as the cause of v1's exception."""
    if sys.flags.dev_mode:
        return error
    if error.code is None:  # v1's exception has the text
        return None
    error.__cause__ = None
    return error.with_traceback(None)


@dataclass(eq=False)
class Region:
    """One shared-memory region, as v1's handle described it (docs/v1-behaviour.md §7.4).

    A subclass reads, writes and releases the memory of its kind.
    """

    name: str
    byte_size: int
    key: str = ""  # of a system region
    device_id: int = 0  # of a CUDA region
    raw_handle: bytes = b""  # of a CUDA region: the 64 bytes of its IPC handle
    kind = ""  # SYSTEM or CUDA

    def read(self, offset: int, count: int) -> BytesLike:
        """Return a private copy of ``count`` bytes from ``offset``; RegionError beyond the end."""
        self._check_bounds("read", offset, count)
        return self._read(offset, count) if count else b""

    def write_arrays(self, arrays: Iterable[np.ndarray]) -> None:
        """Copy the memory of arrays, in C order, one after another from the region's beginning.

        ``S`` elements keep their NUL padding, so the result of ``serialize_string_tensor`` is
        exact. ``U`` elements are UTF-32. RegionError, with nothing written, for object arrays, and
        for arrays that do not fit.
        """
        views = [view for view in map(_memory_of, arrays) if len(view)]
        self._check_bounds("write", 0, sum(map(len, views)))
        self._write(views)

    def destroy(self) -> None:
        """Release the memory, as v1's destroy did for its kind."""
        raise NotImplementedError

    def _read(self, offset: int, count: int) -> BytesLike:
        """Return a copy of ``count`` bytes, writable where that costs nothing."""
        raise NotImplementedError

    def _write(self, views: Sequence[memoryview]) -> None:
        """Copy the views (of bytes, none empty) one after another, from the beginning."""
        raise NotImplementedError

    def _check_bounds(self, action: str, offset: int, count: int) -> None:
        # v1 copied without looking and corrupted memory or segfaulted (docs/v1-behaviour.md §7.1).
        if offset < 0 or count < 0 or offset + count > self.byte_size:
            raise RegionError(
                f"cannot {action} {count} bytes at offset {offset} of shared memory region "
                f"'{self.name}': its size is {self.byte_size} bytes; create a larger region "
                f"or {action} less"
            )


def _memory_of(array: np.ndarray) -> memoryview:
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
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


_EXPECTED = "expected the c_void_p that create_shared_memory_region returned in this process"

#: Handle's value → region. Handles keep their regions.
_regions: WeakValueDictionary[int, Region] = WeakValueDictionary()
#: Those that have not been destroyed, which need no handle object.
_undestroyed: dict[int, Region] = {}
# 2**62 is beyond the user addresses of every 64-bit system; 64 apart, they look like pointers.
_values = itertools.count(2**62 + int.from_bytes(os.urandom(5), "little") * 2**16, 64)


def add(region: Region) -> ctypes.c_void_p:
    """Enter a region → the new handle that stands for it."""
    handle = ctypes.c_void_p(next(_values))
    handle.region = region  # type: ignore[attr-defined]
    _regions[_value(handle)] = _undestroyed[_value(handle)] = region
    return handle


def lookup(handle: object, kind: str | None = None) -> Region:
    """Handle, or its value as an int, which ctypes accepted too → its region.

    RegionError for None, a null pointer, an unknown pointer or any other object and, when
    ``kind`` is given, for a handle of the other kind of memory.
    """
    value = _value(handle)
    if not value:
        shown = "None" if handle is None else "a null pointer"
        raise RegionError(f"the shared memory handle is {shown}: {_EXPECTED}")
    region = _regions.get(value)
    if region is None:
        raise RegionError(
            f"the shared memory handle {value:#x} is unknown: {_EXPECTED}, and not one whose "
            f"region was destroyed and given up before"
        )
    if kind is not None and region.kind != kind:
        raise RegionError(
            f"the handle is of {region.kind} shared memory region '{region.name}', but a "
            f"{kind} region is needed; use the module that created it"
        )
    return region


def destroy(handle: object, kind: str) -> None:
    """Destroy the handle's region, which lives on with its handle. RegionError if refused."""
    lookup(handle, kind).destroy()
    _undestroyed.pop(_value(handle), None)


def _value(handle: object) -> int:
    if isinstance(handle, ctypes.c_void_p):
        return handle.value or 0
    if handle is None or isinstance(handle, int):
        return handle or 0
    raise RegionError(f"a {type(handle).__name__} is no shared memory handle: {_EXPECTED}")

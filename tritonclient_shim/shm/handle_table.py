"""The table of shared-memory handles: each is a ``ctypes.c_void_p``, found by its value.

Scripts and the contexts test no more than ``type(handle) == c_void_p`` (docs/v1-behaviour.md §7.4).
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
from weakref import WeakValueDictionary

from tritonclient_shim.shm.region import Region, RegionError

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

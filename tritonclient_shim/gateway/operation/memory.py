"""How the C library keeps memory for tensors: it asks the system for new pages less often.

Each request of some megabytes is copied into several buffers. By default glibc gives such a buffer
back to the system at once, and the system clears every page of the next one. That takes more time
than all else that the gateway does with a large request.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

# glibc's numbers of the parameters, from its malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
#: Buffers up to this size in bytes are kept; glibc allows no more.
_KEPT = 32 * 1024 * 1024
#: Free bytes at the end of the heap, from which on they are given back to the system.
_MOST_FREE = 4 * _KEPT
#: Heaps; each thread would otherwise have one of its own, with its own free memory.
_HEAPS = 2


def keep_buffers() -> None:
    """Tell the C library. Does nothing where it is not glibc."""
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, value in (
            (_MMAP_THRESHOLD, _KEPT),
            (_TRIM_THRESHOLD, _MOST_FREE),
            (_ARENA_MAX, _HEAPS),
        ):
            mallopt(parameter, value)

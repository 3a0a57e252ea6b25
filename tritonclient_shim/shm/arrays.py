"""ndarray → the bytes that go into a region."""

from __future__ import annotations

import numpy as np

from tritonclient_shim.shm.region import RegionError


def as_buffer(array: np.ndarray) -> memoryview:
    """ndarray → its memory as bytes in C order, copied only where it is not contiguous.

    Every fixed-size dtype is taken as it lies in memory: ``S`` elements with their NUL
    padding (so the result of ``serialize_string_tensor`` is exact), ``U`` as UTF-32.
    RegionError for object arrays.
    """
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
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data

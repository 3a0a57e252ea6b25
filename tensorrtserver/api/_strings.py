"""``serialize_string_tensor``, for string tensors in shared memory (docs/v1-behaviour.md §3.6,
since 1.11).
"""

from __future__ import annotations

from typing import Any

from tensorrtserver.api._lazy_imports import strings
from tritonclient_shim import notice


def serialize_string_tensor(input_tensor: Any) -> Any:
    """Serialise a string tensor as it lies in shared memory.

    Deprecated [TS065], see migration_guide.md#system-shared-memory. Instead:
    tritonclient.utils.serialize_byte_tensor(array).

    Parameters
    ----------
    input_tensor : numpy.ndarray
        Array of dtype object or ``S``, of any shape but not empty.

    Returns
    -------
    numpy.ndarray
        0-d array of dtype ``S<n>``: per element, in C order, a 4-byte little-endian length
        and the bytes.

    Raises
    ------
    InferenceServerException
        `input_tensor` is no array, is empty, or holds neither objects nor bytes.
    """
    notice.used("TS065")
    return strings.serialize_string_tensor(input_tensor)


serialize_string_tensor.__module__ = "tensorrtserver.api"

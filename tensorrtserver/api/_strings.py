"""``serialize_string_tensor``, for string tensors in shared memory (docs/v1-behaviour.md §3.6,
since 1.11).
"""

from __future__ import annotations

from typing import Any

from tensorrtserver.api._lazy_imports import strings
from tritonclient_shim import notice


def serialize_string_tensor(input_tensor: Any) -> Any:
    """Serialise a string tensor, for a shared-memory region (docs/v1-behaviour.md §3.6).

    Deprecated [TS065], see migration_guide.md#system-shared-memory. Instead:
    tritonclient.utils.serialize_byte_tensor(array), whose size is
    tritonclient.utils.serialized_byte_size(...) of it.

    Parameters
    ----------
    input_tensor : numpy.ndarray
        Array of dtype object (elements str or bytes) or ``S``, of any shape, not empty.

    Returns
    -------
    numpy.ndarray
        0-d array of dtype ``S<n>``, where n is the total number of bytes. It holds for each
        element, in C order, a 4-byte little-endian length and the element's bytes.

    Raises
    ------
    InferenceServerException
        `input_tensor` is no array, is empty, or has another dtype.
    UnicodeEncodeError
        An element has an unpaired surrogate (docs/v1-behaviour.md §3.6).
    """
    notice.used("TS065")
    return strings.serialize_string_tensor(input_tensor)


serialize_string_tensor.__module__ = "tensorrtserver.api"

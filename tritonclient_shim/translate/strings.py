"""Arrays of strings → the wire form of string tensors (``core/byte_strings.py``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tritonclient_shim.core import byte_strings
from tritonclient_shim.core.errors import InferenceServerException


def _element(value: Any) -> bytes:
    """One element of an object array → bytes: bytes as they are, all else as UTF-8 text.

    v1 sent the repr of a bytes object (docs/v1-behaviour.md §3.6); known difference
    ``bytes-in-object-array``.
    """
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8")


def elements(array: np.ndarray[Any, Any]) -> list[bytes]:
    """Array of dtype object, S or U → the bytes of its elements in C order.

    ``S`` elements lose trailing NULs (docs/v1-behaviour.md §3.6, NumPy's own rule). ``U`` elements
    become UTF-8; v1 sent their UTF-32 memory (known difference ``unicode-array``).
    """
    values = array.ravel(order="C").tolist()
    if array.dtype.kind == "S":
        return values  # type: ignore[no-any-return]
    return [value.encode() if type(value) is str else _element(value) for value in values]


def serialize(array: np.ndarray[Any, Any]) -> bytes:
    """Array of dtype object, S or U → wire form of all its elements in C order."""
    return byte_strings.serialize(elements(array))


def serialize_string_tensor(input_tensor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Array of dtype object or S → 0-d array of dtype ``S<n>`` holding the wire form.

    Raises InferenceServerException for anything else, with v1's texts (docs/v1-behaviour.md §3.6);
    ``U`` arrays are refused here as v1 refused them.
    """
    if not isinstance(input_tensor, np.ndarray):
        raise InferenceServerException("input must be a numpy array")
    if input_tensor.size == 0:
        raise InferenceServerException("input cannot be empty")
    if input_tensor.dtype.kind not in "OS":
        raise InferenceServerException("cannot serialize string tensor: invalid datatype")
    return np.asarray(serialize(input_tensor), dtype=np.bytes_)

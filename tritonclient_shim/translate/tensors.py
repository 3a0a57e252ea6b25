"""NumPy arrays → tensor bytes, by the rules of v1: bytes are reinterpreted, never converted."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.arguments import is_handle
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import Buffer, TensorSpec

_WANTED = (
    "values must be specified as a list of numpy arrays or as a single c_void_p "
    "(representing the shared memory handle) or as a tuple of c_void_p "
    "(representing the shared memory handle) and list (representing the shape of the input tensor)"
)


def check_input_type(name: Any, value: Any) -> None:
    """Raise v1's error unless a value of ``inputs`` is a list of arrays, a handle, or
    ``(handle, shape)`` (docs/v1-behaviour.md §3.3).
    """
    if is_handle(value):
        return
    if isinstance(value, (list, tuple)):
        if len(value) == 2 and is_handle(value[0]) and isinstance(value[1], (list, tuple)):
            return
        if all(isinstance(array, (np.ndarray, tuple)) for array in value):
            return
    # TypeError for a name that is no str, as in v1.
    raise InferenceServerException("input '" + name + "' " + _WANTED)


def byte_size_of_one(spec: TensorSpec, shape: tuple[int, ...]) -> int | None:
    """Return the bytes of one batch entry of ``shape``; None for strings.

    A shape without dimensions has no elements at all (docs/v1-behaviour.md §3.3).
    """
    itemsize = dtypes.itemsize(spec.datatype)
    if itemsize == 0:
        return None
    return prod(shape) * itemsize if shape else 0


def array_chunk(array: np.ndarray[Any, Any], spec: TensorSpec) -> tuple[Buffer, int]:
    """Return the bytes of an array in C order as a buffer, and their number.

    Serialise object and ``S`` arrays as strings whatever the tensor's type, as in v1
    (docs/v1-behaviour.md §3.6), and ``U`` arrays for a string tensor. Convert nothing else.
    """
    if not array.size:
        return b"", 0
    kind = array.dtype.kind
    if kind in "OS" or (kind == "U" and spec.datatype == dtypes.STRING.v2):
        data = serialize(array)
        return data, len(data)
    dense = np.ascontiguousarray(array)
    if kind in "mM":  # NumPy offers no buffer of times
        dense = dense.view(np.int64)
    return dense, dense.nbytes


def serialize_string_tensor(input_tensor: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a 0-d array of dtype ``S<n>`` with the wire form of an array of dtype object or S.

    Raise InferenceServerException for anything else, with v1's texts (docs/v1-behaviour.md §3.6).
    v1 refused ``U`` arrays here, too.
    """
    if not isinstance(input_tensor, np.ndarray):
        raise InferenceServerException("input must be a numpy array")
    if input_tensor.size == 0:
        raise InferenceServerException("input cannot be empty")
    if input_tensor.dtype.kind not in "OS":
        raise InferenceServerException("cannot serialize string tensor: invalid datatype")
    return np.asarray(serialize(input_tensor), dtype=np.bytes_)


def serialize(array: np.ndarray[Any, Any]) -> bytes:
    """Return the wire form of the elements of an array of dtype object, S or U, in C order.

    ``S`` elements lose trailing NULs (docs/v1-behaviour.md §3.6, NumPy's own rule). ``U`` elements
    become UTF-8; v1 sent their UTF-32 memory (known difference ``unicode-array``).
    """
    values = array.ravel(order="C").tolist()
    if array.dtype.kind != "S":
        values = [value.encode() if type(value) is str else _element(value) for value in values]
    return byte_strings.serialize(values)


def _element(value: Any) -> bytes:
    # v1 sent the repr of a bytes object (docs/v1-behaviour.md §3.6); known difference
    # ``bytes-in-object-array``.
    return value if isinstance(value, bytes) else str(value).encode("utf-8")

"""NumPy arrays ↔ tensor bytes, by the rules of v1: bytes are reinterpreted, never converted."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import InferenceServerException
from tritonclient_shim.core.model import Buffer, TensorSpec
from tritonclient_shim.shm.handles import is_handle
from tritonclient_shim.translate import strings

_WANTED = (
    "values must be specified as a list of numpy arrays or as a single c_void_p "
    "(representing the shared memory handle) or as a tuple of c_void_p "
    "(representing the shared memory handle) and list (representing the shape of the input tensor)"
)

#: Element kinds whose arrays offer their memory as a buffer.
_BUFFERS = "biufc"
#: Element kinds whose arrays offer no buffer; their memory is reached as integers.
_NO_BUFFER = "mM"


def check_input_type(name: Any, value: Any) -> None:
    """A value of ``inputs``: list of arrays, handle, or (handle, shape); else v1's text
    (docs/v1-behaviour.md §3.3).
    """
    if type(value) is list and _only_arrays(value):
        return
    if is_handle(value):
        return
    if isinstance(value, (list, tuple)):
        if len(value) == 2 and is_handle(value[0]) and isinstance(value[1], (list, tuple)):
            return
        if all(isinstance(array, (np.ndarray, tuple)) for array in value):
            return
    # TypeError for a name that is no str, as in v1.
    raise InferenceServerException("input '" + name + "' " + _WANTED)


def _only_arrays(values: list[Any]) -> bool:
    return {*map(type, values)} == {np.ndarray}


def byte_size_of_one(spec: TensorSpec, shape: tuple[int, ...]) -> int | None:
    """Bytes of one batch entry of ``shape``; None for strings.

    A shape without dimensions counts as no elements at all (docs/v1-behaviour.md §3.3).
    """
    itemsize = dtypes.itemsize(spec.datatype)
    if itemsize == 0:
        return None
    return prod(shape) * itemsize if shape else 0


def plain_chunks(arrays: Any, expected: int | None) -> tuple[Buffer, ...] | None:
    """Arrays that are chunks as they are, each of ``expected`` bytes; None if one is not."""
    for array in arrays:
        if not isinstance(array, np.ndarray):  # a tuple, see check_input_type; array_chunk refuses
            return None
        plain = array.dtype.kind in _BUFFERS and array.flags.c_contiguous
        if not plain or array.nbytes != expected:
            return None
    return tuple(arrays)


def array_chunk(array: np.ndarray[Any, Any], spec: TensorSpec) -> tuple[Buffer, int]:
    """One array → its bytes in C order as a buffer, and how many they are.

    Object and ``S`` arrays are serialised as strings whatever the tensor's type, as in v1
    (docs/v1-behaviour.md §3.6); ``U`` arrays where the tensor is a string tensor. Nothing else is
    converted.
    """
    if not array.size:
        return b"", 0
    kind = array.dtype.kind
    if kind in "OS" or (kind == "U" and spec.datatype == dtypes.STRING.v2):
        data = strings.serialize(array)
        return data, len(data)
    dense = np.ascontiguousarray(array)
    if kind in _NO_BUFFER:
        dense = dense.view(np.int64)
    return dense, dense.nbytes

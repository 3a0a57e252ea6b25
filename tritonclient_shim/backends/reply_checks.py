"""Checks of an output tensor: do its data fit the shape that the server tells?"""

from __future__ import annotations

from math import prod

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import UnreadableFault
from tritonclient_shim.core.model import TensorOut
from tritonclient_shim.core.reading import shown

_LARGEST = 2**63 - 1  # of a dimension


def checked(tensor: TensorOut) -> TensorOut:
    """The tensor; UnreadableFault where its shape is impossible, or its data do not fit it."""
    for size in tensor.shape:
        if type(size) is not int or not 0 <= size <= _LARGEST:
            raise UnreadableFault(
                f"output {shown(tensor.name)} has the shape {shown(list(tensor.shape))}",
                "non-negative integers",
            )
    wanted = data_size(tensor.datatype, tensor.shape)
    if tensor.data is None or wanted is None:
        return tensor
    received = memoryview(tensor.data).nbytes
    if received != wanted:
        raise UnreadableFault(
            f"output {shown(tensor.name)} has {received} bytes of data",
            f"{shown(wanted)} for {tensor.datatype} of shape {shown(list(tensor.shape))}",
        )
    return tensor


def data_size(datatype: str, shape: tuple[int, ...]) -> int | None:
    """Bytes of a tensor; None for strings, and for a type that is not in the table."""
    one = dtypes.itemsize(datatype)
    return one * prod(shape) if one else None

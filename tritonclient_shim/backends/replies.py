"""What both backends do with a reply: parse equal parts once, check data against shapes."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Callable, TypeVar

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import UnreadableFault
from tritonclient_shim.core.model import TensorOut
from tritonclient_shim.core.reading import shown

T = TypeVar("T")

#: More bytes than this are parsed each time; 0 parses all, as the benchmarks do beside the small
#: run.
REMEMBERED_BYTES = 4096


def remembered(parse: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """``parse``, run once for equal bytes that come again soon; what it raises is not kept."""
    known = lru_cache(maxsize=256)(parse)
    return lambda content: (known if len(content) <= REMEMBERED_BYTES else parse)(content)


_LARGEST = 2**63 - 1  # of a dimension


def checked(tensor: TensorOut) -> TensorOut:
    """Return the tensor; UnreadableFault for an impossible shape, or data of another size."""
    data = tensor.data
    size = len(data) if type(data) is bytes else None if data is None else memoryview(data).nbytes
    check_sizes(tensor, size)
    return tensor


def check_sizes(tensor: TensorOut, received: int | None) -> None:
    """UnreadableFault unless a tensor can have this shape, and data of so many bytes, if any."""
    wanted = expected_size(tensor)
    if wanted is not None and received is not None and received != wanted:
        raise UnreadableFault(
            f"output {shown(tensor.name)} has {received} bytes of data",
            f"{shown(wanted)} for {tensor.datatype} of shape {shown(list(tensor.shape))}",
        )


def expected_size(tensor: TensorOut) -> int | None:
    """Return the bytes of a tensor of this shape; UnreadableFault where no tensor can have it.

    None where the shape does not tell: for strings, and for a type that v1 did not have.
    """
    for size in tensor.shape:
        if type(size) is not int or not 0 <= size <= _LARGEST:
            raise UnreadableFault(
                f"output {shown(tensor.name)} has the shape {shown(list(tensor.shape))}",
                "non-negative integers",
            )
    one = dtypes.itemsize(tensor.datatype)
    return one * prod(tensor.shape) if one else None

"""All replies of servers are read here, because a server, or a proxy, may send anything.

The readers check what they expect, and say exactly what is wrong. An exception of a parser, of
NumPy or of protobuf becomes an error here, so it does not reach a user. Exceptions of the program's
own signal handlers do: a signal may come while a reply is read.
"""

from __future__ import annotations

import struct
import threading
from functools import lru_cache
from math import prod
from reprlib import Repr
from typing import Any, Callable, TypeVar

import numpy as np
from google.protobuf.message import DecodeError

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import BackendError, InferenceServerException, UnreadableReply
from tritonclient_shim.core.model import TensorOut

T = TypeVar("T")

#: Messages show at most this many characters of an exception.
_MOST = 200

#: What parsers, NumPy and protobuf raise for contents that they do not expect.
_ODD_CONTENTS = (
    ArithmeticError, AssertionError, AttributeError, BufferError, DecodeError, LookupError,
    MemoryError, RuntimeError, TypeError, ValueError, struct.error,
)  # fmt: skip

_repr = Repr()
_repr.maxstring = _repr.maxother = 60


def shown(value: Any) -> str:
    """Return part of a reply as messages show it, shortened."""
    return _repr.repr(value)


def read(reader: Callable[..., T], *answer: Any) -> T:
    """Return ``reader(*answer)``. Raise UnreadableReply for contents that it does not expect."""
    try:
        return reader(*answer)
    except (BackendError, InferenceServerException):
        raise
    except _ODD_CONTENTS as error:
        raise _unreadable(error) from error


def outcome_of(reader: Callable[..., T], *answer: Any) -> T | BackendError:
    """Return ``reader(*answer)`` or, instead of raising it, the error of :func:`read`.

    Every asynchronous request is completed with this result, so a thread that only reads gets an
    error for any exception. The main thread raises an exception of a signal's handler.
    """
    try:
        return read(reader, *answer)
    except BackendError as backend_error:
        return backend_error
    except Exception as error:
        if threading.current_thread() is threading.main_thread():
            raise
        return _unreadable(error)


def _unreadable(error: Exception) -> UnreadableReply:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    backend_error = UnreadableReply(text if len(text) <= _MOST else f"{text[:_MOST]}…")
    backend_error.__cause__ = error
    return backend_error


#: Tensors of replies from this size in bytes on are views on the reply, of smaller ones copies.
CUT_FROM = 64 * 1024

#: Larger contents are parsed each time. A benchmark sets 0, which parses all: small runs then take
#: 1.1 times the CPU over gRPC, and 1.7 times over HTTP.
REMEMBERED_BYTES = 4096


def remembered(parse: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """Return ``parse`` with a cache of its results by content. Exceptions are not kept."""
    cached = lru_cache(maxsize=256)(parse)
    return lambda content: (cached if len(content) <= REMEMBERED_BYTES else parse)(content)


def packed(name: str, datatype: str, values: list[Any]) -> bytes:
    """Return the numbers of an output as its bytes; UnreadableReply for one out of range."""
    with np.errstate(over="ignore"):
        array = np.array(values, dtypes.BY_V2[datatype].numpy)
    if array.dtype.kind == "f":
        wrong = (np.isinf(array) != np.isinf(np.array(values, np.float64))).any()
    else:  # the server has rounded a float beyond 2**53
        wrong = array.tolist() != values
        wrong = wrong or any(type(value) is float and abs(value) > 2**53 for value in values)
    if wrong:
        raise UnreadableReply(f"output {shown(name)} has a value out of range", f"type {datatype}")
    return bytes(array.tobytes())


_LARGEST = 2**63 - 1  # of a dimension


def check_sizes(tensor: TensorOut, received: int | None) -> None:
    """Raise UnreadableReply for an impossible shape, or if data of another size were received."""
    expected = expected_size(tensor)
    if expected is not None and received is not None and received != expected:
        raise UnreadableReply(
            f"output {shown(tensor.name)} has {received} bytes of data",
            f"{shown(expected)} for {tensor.datatype} of shape {shown(list(tensor.shape))}",
        )


def expected_size(tensor: TensorOut) -> int | None:
    """Return the size in bytes of the tensor's data; UnreadableReply for an impossible shape.

    None for strings, and for a type that v1 did not have.
    """
    for size in tensor.shape:
        if type(size) is not int or not 0 <= size <= _LARGEST:
            raise UnreadableReply(
                f"output {shown(tensor.name)} has the shape {shown(list(tensor.shape))}",
                "non-negative integers",
            )
    itemsize = dtypes.itemsize(tensor.datatype)
    return itemsize * prod(tensor.shape) if itemsize else None

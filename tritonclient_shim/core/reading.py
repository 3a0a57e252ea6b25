"""All replies of servers are read here.

A server, or something between, may answer anything. The checks of the readers say what is wrong
with an answer as exactly as they can; whatever they did not foresee, and reading then raises, is
made an error here. So no exception of a parser, of NumPy or of protobuf reaches a user, and none
ends a thread on which others wait for an outcome.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from reprlib import Repr
from typing import Any, Callable, TypeVar

from tritonclient_shim.core import dtypes
from tritonclient_shim.core.errors import BackendError, InferenceServerException, UnreadableReply
from tritonclient_shim.core.model import TensorOut

T = TypeVar("T")

#: The most characters that a message repeats of an answer or of an exception.
_MOST = 200

_repr = Repr()
_repr.maxstring = _repr.maxother = 60


def shown(value: Any) -> str:
    """Part of an answer → how a message shows it, shortened."""
    return _repr.repr(value)


def read(reader: Callable[..., T], *answer: Any) -> T:
    """``reader(*answer)``; UnreadableReply for whatever it raises that is not ours.

    Errors that are in their final form, errors and InferenceServerException, pass.
    """
    try:
        return reader(*answer)
    except (BackendError, InferenceServerException):
        raise
    except Exception as error:
        raise _unreadable(error) from error


def outcome_of(reader: Callable[..., T], *answer: Any) -> T | BackendError:
    """``reader(*answer)``, or the error it raised, or what :func:`read` makes of all else.

    It never raises: every asynchronous request is completed with what this returns.
    """
    try:
        return reader(*answer)
    except BackendError as backend_error:
        return backend_error
    except Exception as error:
        return _unreadable(error)


def _unreadable(error: Exception) -> UnreadableReply:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    backend_error = UnreadableReply(text if len(text) <= _MOST else f"{text[:_MOST]}…")
    backend_error.__cause__ = error
    return backend_error


#: More bytes than this are parsed each time; 0 parses all, as the benchmarks do beside the small
#: run.
REMEMBERED_BYTES = 4096


def remembered(parse: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """``parse``, run once for equal bytes that come again soon; what it raises is not kept."""
    known = lru_cache(maxsize=256)(parse)
    return lambda content: (known if len(content) <= REMEMBERED_BYTES else parse)(content)


_LARGEST = 2**63 - 1  # of a dimension


def checked(tensor: TensorOut) -> TensorOut:
    """Return the tensor; UnreadableReply for an impossible shape, or data of another size."""
    data = tensor.data
    size = len(data) if type(data) is bytes else None if data is None else memoryview(data).nbytes
    check_sizes(tensor, size)
    return tensor


def check_sizes(tensor: TensorOut, received: int | None) -> None:
    """UnreadableReply unless a tensor can have this shape, and data of so many bytes, if any."""
    wanted = expected_size(tensor)
    if wanted is not None and received is not None and received != wanted:
        raise UnreadableReply(
            f"output {shown(tensor.name)} has {received} bytes of data",
            f"{shown(wanted)} for {tensor.datatype} of shape {shown(list(tensor.shape))}",
        )


def expected_size(tensor: TensorOut) -> int | None:
    """Return the bytes of a tensor of this shape; UnreadableReply where no tensor can have it.

    None for strings, and for a type that v1 did not have.
    """
    for size in tensor.shape:
        if type(size) is not int or not 0 <= size <= _LARGEST:
            raise UnreadableReply(
                f"output {shown(tensor.name)} has the shape {shown(list(tensor.shape))}",
                "non-negative integers",
            )
    one = dtypes.itemsize(tensor.datatype)
    return one * prod(tensor.shape) if one else None

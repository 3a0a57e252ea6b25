"""The base class of all contexts, ``ProtocolType``, ``serialize_string_tensor``, and types.

The types of arguments and results are for type checkers and editors. They accept every form that v1
took. That includes a dict that a program has put into a variable first: of its values checkers know
no more than ``object``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    Sequence,
    SupportsIndex,
    SupportsInt,
    TypeVar,
    Union,
)

from tritonclient_shim import notice
from tritonclient_shim.core.arguments import ArgumentError
from tritonclient_shim.core.tracebacks import ShortTraceback

_Self = TypeVar("_Self", bound="Context")
Text = Union[str, bytes]
ProtocolLike = Union[SupportsInt, str]  # it goes through int()
Integer = SupportsIndex  # bools and NumPy's integers are integers, too

#: Name of an input → a list of arrays, or a handle of shared memory, or (handle, shape).
Inputs = Mapping[Any, object]
#: Name of an output, str or bytes, which is its name in the results.
Name = TypeVar("Name", bound=Union[str, bytes])
#: Name of an output → RAW, (CLASS, k), or (RAW, handle of shared memory).
Outputs = Mapping[Name, object]
#: Name of an output → per batch entry an array, or its best classes.
Results = Dict[Name, List[Any]]

#: Called as ``callback(context, request_id)``.
RequestCallback = Callable[[Any, int], object]
HttpHeaders = Union[Sequence[Union[str, bytes]], None]


def _our_errors() -> tuple[type[BaseException], ...]:
    """Return the errors that contexts raise. Their modules are imported when a call fails."""
    from tritonclient_shim.core.errors import InferenceServerException
    from tritonclient_shim.settings import SettingsError

    return (ArgumentError, InferenceServerException, SettingsError)


short_traceback = ShortTraceback(_our_errors)


class Context:
    """A connection to one server: ``with``, and a refusal to be copied; ``_ctx`` is its session."""

    _ctx: Any = None  # None also after close()
    _name = ""  # the class's name in v1's texts, also in users' subclasses

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # v1 raised ValueError, too: ctypes refused to pickle its pointer. A subclass that leaves
        # out its connection has a __getstate__ of its own, and goes on with that.
        if self._ctx is not None:
            raise ValueError(
                f"an open {type(self).__name__} can be neither pickled nor copied: its connection "
                "belongs to this process and this object; hand over its url, protocol and model "
                "name instead, and make another context from them there"
            )
        return self.__dict__

    def close(self) -> None:
        """Close the context."""
        raise NotImplementedError

    def _closed(self) -> Exception:
        """Return the error of a call on a closed context."""
        from tritonclient_shim.core.errors import InferenceServerException

        return InferenceServerException(f"{self._name} is closed")


class ProtocolType(IntEnum):
    """The protocols that a context can use; the members equal the ints 0 and 1."""

    HTTP = 0
    GRPC = 1

    @classmethod
    def from_str(cls, value: str) -> ProtocolType:
        """Return the member of a protocol's name.

        Deprecated [TS011], see ``tritonclient-shim guide connections``. Instead: import
        tritonclient.grpc on gRPC, import tritonclient.http over HTTP.

        Parameters
        ----------
        value : str
            ``http`` or ``grpc``, in upper or lower case.

        Returns
        -------
        ProtocolType
            The protocol of that name.

        Raises
        ------
        Exception
            `value` names no protocol; as in v1, the class is ``Exception`` itself.
        AttributeError
            `value` is no str.
        """
        notice.used("TS011")
        protocol = _BY_NAME.get(value.lower())
        if protocol is None:
            raise Exception(f"unexpected protocol: {value}, expecting HTTP or gRPC")
        return protocol

    def __str__(self) -> str:
        """Return ``ProtocolType.HTTP``, as Pythons before 3.11 show an IntEnum."""
        return f"ProtocolType.{self.name}"


ProtocolType.__module__ = "tensorrtserver.api"

_BY_NAME = {"http": ProtocolType.HTTP, "grpc": ProtocolType.GRPC}


def serialize_string_tensor(input_tensor: Any) -> Any:
    """Serialise a string tensor, for a shared-memory region.

    Deprecated [TS065], see ``tritonclient-shim guide system-shared-memory``. Instead:
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
        An element has an unpaired surrogate.
    """
    notice.used("TS065")
    from tritonclient_shim.translate import request

    return request.serialize_string_tensor(input_tensor)


serialize_string_tensor.__module__ = "tensorrtserver.api"

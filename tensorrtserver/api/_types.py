"""The types of arguments and results, for type checkers and editors.

They accept every form that v1 took (docs/v1-behaviour.md §3). That includes a dict that a program
has put into a variable first: of its values checkers know no more than ``object``.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    SupportsIndex,
    SupportsInt,
    Tuple,
    TypeVar,
    Union,
)

if TYPE_CHECKING:
    import numpy as np

Text = Union[str, bytes]
ProtocolLike = Union[SupportsInt, str]  # it goes through int()
Integer = SupportsIndex  # bools and NumPy's integers are integers, too

#: Name of an input → a list of arrays, or a handle of shared memory, or (handle, shape).
Inputs = Mapping[Any, object]
#: Name of an output, str or bytes, which is its name in the results.
Name = TypeVar("Name", bound=Union[str, bytes])
#: Name of an output → RAW, (CLASS, k), or (RAW, handle of shared memory).
Outputs = Mapping[Name, object]
RawOutputs = Mapping[Name, Tuple[int]]
ClassOutputs = Mapping[Name, Tuple[int, int]]

#: One array per batch entry.
BatchArrays = List["np.ndarray[Any, Any]"]
#: The best classes of each batch entry: index, value and label.
BatchClasses = List[List[Tuple[int, float, str]]]
RawResults = Dict[Name, BatchArrays]
ClassResults = Dict[Name, BatchClasses]
#: Results of several forms, or of a request that was sent elsewhere.
Results = Dict[Name, List[Any]]

#: Called as ``callback(context, request_id)``.
RequestCallback = Callable[[Any, int], object]

"""The types of arguments and results, for type checkers and editors.

They accept every form that v1 took (docs/v1-behaviour.md §3). That includes a dict that a program
has put into a variable first: of its values checkers know no more than ``object``.
"""

from __future__ import annotations

from typing import (
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    SupportsIndex,
    SupportsInt,
    TypeVar,
    Union,
)

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

"""Notices of arrays whose bytes the server misreads: their datatype is not the input's.

As in v1, the bytes are sent as they are (docs/v1-behaviour.md §3.6). So a model of integers
computes with the bits of floats, without an error.
"""

from __future__ import annotations

import sys
from typing import Any, Mapping

import numpy as np

from tritonclient_shim.core import dtypes
from tritonclient_shim.notice import warn, watch
from tritonclient_shim.notice.categories import TensorRTServerDeprecationWarning

_MISREAD = (
    "Input {name!r} is {datatype} and its array is {array}: the server takes the bytes as they "
    "are. Convert the array: astype({dtype!r}). tritonclient raises an error. "
    "`tritonclient-shim guide inference`"
)


def check_datatypes(datatypes: Mapping[str, str], inputs: Mapping[Any, Any]) -> None:
    """Notice arrays of other datatypes than their inputs', if all notices are wanted.

    ``datatypes`` are the inputs of the model with their names in KServe v2.
    """
    if not watch.wants_all():
        return
    frame = watch.user_frame(sys._getframe(1))
    for key, value in inputs.items():
        text = _misread(datatypes, key, value)
        if text:
            warn.issue(TensorRTServerDeprecationWarning("", None, None, text), frame)


def _misread(datatypes: Mapping[str, str], key: Any, value: Any) -> str:
    """Return the text about the first array of an input; '' if its bytes are read as they are."""
    row = dtypes.BY_V2.get(datatypes.get(key, "")) if isinstance(key, str) else None
    if row is None or row.numpy is None or not row.itemsize:  # of strings, or newer than v1
        return ""
    array = value[0] if isinstance(value, (list, tuple)) and value else None
    if not isinstance(array, np.ndarray) or array.dtype == row.numpy:
        return ""
    return _MISREAD.format(name=key, datatype=row.v2, array=array.dtype, dtype=row.numpy.name)

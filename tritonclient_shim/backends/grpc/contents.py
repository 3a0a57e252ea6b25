"""Tensors that a server tells as lists of numbers, where KServe v2 has raw bytes as well."""

from __future__ import annotations

from typing import Any

import numpy as np

from tritonclient_shim.core import byte_strings, dtypes
from tritonclient_shim.core.errors import UnreadableFault
from tritonclient_shim.core.reading import shown

#: Kind of the NumPy type → the field of its values; 64-bit integers have fields of their own.
_FIELDS = {"b": "bool_contents", "i": "int_contents", "u": "uint_contents"}
_WIDEST = {"b": "bool", "i": "i8", "u": "u8", "f": "f8"}
_OWN = {
    "INT64": "int64_contents",
    "UINT64": "uint64_contents",
    "BYTES": "bytes_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}


def typed_data(tensor: Any) -> bytes | None:
    """The values of an output tensor as its raw bytes; None where the message has none.

    Some servers set the field beside raw bytes, and leave it empty.
    """
    if not tensor.HasField("contents"):
        return None
    row = dtypes.BY_V2.get(tensor.datatype)
    if row is None or row.numpy is None:
        return None
    values = getattr(tensor.contents, _OWN.get(row.v2) or _FIELDS.get(row.numpy.kind, ""), ())
    if row is dtypes.STRING:
        return byte_strings.serialize(values)
    exact = np.array(values, _WIDEST[row.numpy.kind])
    found = exact.astype(row.numpy)
    if row.numpy.kind != "f" and (found != exact).any():
        raise UnreadableFault(
            f"output {shown(tensor.name)} has a value out of range", f"type {tensor.datatype}"
        )
    content: bytes = found.tobytes()
    return content

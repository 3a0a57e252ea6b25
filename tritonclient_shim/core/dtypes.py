"""One table: v1 data type number ↔ KServe v2 name ↔ NumPy dtype ↔ bytes per element."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class DataType:
    """One row: ``number`` and ``v1`` name from model_config.proto (docs/v1-behaviour.md §8.1)."""

    number: int
    v1: str
    v2: str
    numpy: np.dtype | None  # None: newer than v1, which had no array for it
    itemsize: int  # 0: variable
    contents: str = ""  # the field of its values in KServe v2's InferTensorContents
    classes: bool = False  # v1's server classified it; a v2 server may end (docs/v2-mapping.md §1)


def _row(
    number: int, v2: str, numpy: str | None, contents: str = "", classes: bool = False, v1: str = ""
) -> DataType:
    dtype = None if numpy is None else np.dtype(numpy)
    size = 0 if dtype is None or dtype.hasobject else dtype.itemsize
    return DataType(number, f"TYPE_{v1 or v2}", v2, dtype, size, contents, classes)


TABLE = (
    _row(1, "BOOL", "bool", "bool_contents"),
    _row(2, "UINT8", "uint8", "uint_contents", classes=True),
    _row(3, "UINT16", "uint16", "uint_contents", classes=True),
    _row(4, "UINT32", "uint32", "uint_contents", classes=True),
    _row(5, "UINT64", "uint64", "uint64_contents", classes=True),
    _row(6, "INT8", "int8", "int_contents", classes=True),
    _row(7, "INT16", "int16", "int_contents", classes=True),
    _row(8, "INT32", "int32", "int_contents", classes=True),
    _row(9, "INT64", "int64", "int64_contents", classes=True),
    _row(10, "FP16", "float16"),
    _row(11, "FP32", "float32", "fp32_contents", classes=True),
    _row(12, "FP64", "float64", "fp64_contents", classes=True),
    _row(13, "BYTES", "object", "bytes_contents", v1="STRING"),
    # Newer than v1: keeps its number, has no array type (docs/v1-behaviour.md §8.3).
    replace(_row(14, "BF16", None), itemsize=2),
)

BY_NUMBER: dict[int, DataType] = {row.number: row for row in TABLE}
BY_V2: dict[str, DataType] = {row.v2: row for row in TABLE}
STRING = BY_V2["BYTES"]
#: Data types newer than v1: v1's enum lacks their names, its wire carries their numbers.
NEWER = {row.v1: row.number for row in TABLE if row.number > STRING.number}
#: The names of all data types, as messages show them.
SHOWN = ", ".join(["TYPE_BOOL … TYPE_STRING", *NEWER])


def v1_name(v2: str) -> str:
    """KServe v2 name → v1 enum name, ``TYPE_INVALID`` if there is none."""
    row = BY_V2.get(v2)
    return row.v1 if row else "TYPE_INVALID"


def itemsize(v2: str) -> int:
    """KServe v2 name → bytes per element, 0 for strings and unknown types."""
    row = BY_V2.get(v2)
    return row.itemsize if row else 0

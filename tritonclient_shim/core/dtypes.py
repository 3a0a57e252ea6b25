"""One table: v1 data type number ↔ KServe v2 name ↔ NumPy dtype ↔ bytes per element."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class DataType(NamedTuple):
    """One row: ``number`` and ``v1`` name from model_config.proto (docs/v1-behaviour.md §8.1)."""

    number: int
    v1: str
    v2: str
    numpy: np.dtype | None  # None: v1 has no array for it
    itemsize: int  # 0: variable


def _row(number: int, v1: str, v2: str, numpy: str | None, itemsize: int) -> DataType:
    return DataType(number, v1, v2, None if numpy is None else np.dtype(numpy), itemsize)


TABLE = (
    _row(1, "TYPE_BOOL", "BOOL", "bool", 1),
    _row(2, "TYPE_UINT8", "UINT8", "uint8", 1),
    _row(3, "TYPE_UINT16", "UINT16", "uint16", 2),
    _row(4, "TYPE_UINT32", "UINT32", "uint32", 4),
    _row(5, "TYPE_UINT64", "UINT64", "uint64", 8),
    _row(6, "TYPE_INT8", "INT8", "int8", 1),
    _row(7, "TYPE_INT16", "INT16", "int16", 2),
    _row(8, "TYPE_INT32", "INT32", "int32", 4),
    _row(9, "TYPE_INT64", "INT64", "int64", 8),
    _row(10, "TYPE_FP16", "FP16", "float16", 2),
    _row(11, "TYPE_FP32", "FP32", "float32", 4),
    _row(12, "TYPE_FP64", "FP64", "float64", 8),
    _row(13, "TYPE_STRING", "BYTES", "object", 0),
    # Newer than v1: keeps its number, has no array type (docs/v1-behaviour.md §8.3).
    _row(14, "TYPE_BF16", "BF16", None, 2),
)

BY_NUMBER: dict[int, DataType] = {row.number: row for row in TABLE}
BY_V2: dict[str, DataType] = {row.v2: row for row in TABLE}
STRING = BY_V2["BYTES"]


def v1_name(v2: str) -> str:
    """KServe v2 name → v1 enum name, ``TYPE_INVALID`` when there is none."""
    row = BY_V2.get(v2)
    return row.v1 if row else "TYPE_INVALID"


def itemsize(v2: str) -> int:
    """KServe v2 name → bytes per element, 0 for strings and unknown types."""
    row = BY_V2.get(v2)
    return row.itemsize if row else 0

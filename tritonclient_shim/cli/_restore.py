"""Puts back what NumPy has removed since 2019, for scripts that still use it."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The names that NumPy 1.24 and 2.0 removed, and their meanings.
NUMPY_NAMES: dict[str, Any] = {
    "bool": bool,
    "complex": complex,
    "float": float,
    "int": int,
    "long": int,
    "object": object,
    "str": str,
    "unicode": str,
    "complex_": np.complex128,
    "float_": np.float64,
    "string_": np.bytes_,
    "unicode_": np.str_,
    "Inf": np.inf,
    "Infinity": np.inf,
    "NaN": np.nan,
    "asscalar": lambda array: array.item(),
    "sctypes": {
        "int": [np.int8, np.int16, np.int32, np.int64],
        "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
        "float": [np.float16, np.float32, np.float64, np.longdouble],
        "complex": [np.complex64, np.complex128, np.clongdouble],
        "others": [bool, object, bytes, str, np.void],
    },
}

#: Names that the program has used so far, for the report of `run`.
put_back: list[str] = []


def numpy_names() -> None:
    """Put back NumPy's names when they are used; one that NumPy has keeps its present meaning."""
    present = getattr(np, "__getattr__", _no_attribute)

    def attribute(name: str) -> Any:
        if name not in NUMPY_NAMES:
            return present(name)
        put_back.append(f"np.{name}")
        setattr(np, name, NUMPY_NAMES[name])
        return NUMPY_NAMES[name]

    setattr(np, "__getattr__", attribute)  # noqa: B010 - a module's, for mypy


def _no_attribute(name: str) -> Any:
    raise AttributeError(f"module 'numpy' has no attribute {name!r}")

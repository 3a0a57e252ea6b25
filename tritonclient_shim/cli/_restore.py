"""Puts back what NumPy and Python have removed since 2019, for scripts that still use it."""

from __future__ import annotations

import importlib
import operator
import sys
from types import ModuleType
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


def future_utils() -> None:
    """Put back ``future.utils`` where the distribution ``future`` cannot be imported."""
    try:
        importlib.import_module("future.utils")
    except ImportError:
        package, utils = ModuleType("future"), ModuleType("future.utils")
        utils.__dict__.update(_FUTURE, PY2=False, PY3=True)
        package.__dict__.update(utils=utils, __path__=[])
        sys.modules.update({"future": package, "future.utils": utils})
        put_back.append("future.utils")


def _raise_from(error: BaseException, cause: BaseException | None) -> None:
    raise error from cause


def _of_views(name: str) -> dict[str, Any]:
    """Return what ``future.utils`` calls ``iteritems``, ``listitems`` and ``viewitems``."""
    view = operator.methodcaller(name)
    return {
        f"iter{name}": lambda mapping: iter(view(mapping)),
        f"list{name}": lambda mapping: list(view(mapping)),
        f"view{name}": view,
    }


_FUTURE: dict[str, Any] = {
    **_of_views("items"),
    **_of_views("keys"),
    **_of_views("values"),
    "native": lambda value: value,
    "raise_from": _raise_from,
    "string_types": (str,),
    "integer_types": (int,),
}

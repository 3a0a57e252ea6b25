"""Puts back what NumPy and Python have removed since 2019, for scripts that still use it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, Callable, Mapping

import numpy as np

#: The names that NumPy 1.24 and 2.0 removed, and what they stood for.
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


def everything(parts: frozenset[str]) -> None:
    """Put back these parts; ``async`` is put back by :mod:`~tritonclient_shim.migrate.runner`."""
    for part in parts & set(_PARTS):
        _PARTS[part]()


def numpy_names() -> None:
    """Put back NumPy's names; one that the installed NumPy has keeps its present meaning."""
    for name, value in NUMPY_NAMES.items():
        if name not in vars(np):
            setattr(np, name, value)


def future_utils() -> None:
    """Put back ``future.utils`` where the distribution ``future`` cannot be imported."""
    try:
        importlib.import_module("future.utils")
    except ImportError:
        package, utils = ModuleType("future"), ModuleType("future.utils")
        utils.__dict__.update(_FUTURE, PY2=False, PY3=True)
        package.__dict__.update(utils=utils, __path__=[])
        sys.modules.update({"future": package, "future.utils": utils})


def _raise_from(error: BaseException, cause: BaseException | None) -> None:
    raise error from cause


def _lister(name: str) -> Callable[[Mapping[Any, Any]], Any]:
    return lambda mapping: list(getattr(mapping, name)())


def _iterator(name: str) -> Callable[[Mapping[Any, Any]], Any]:
    return lambda mapping: iter(getattr(mapping, name)())


_FUTURE: dict[str, Any] = {
    **{f"iter{name}": _iterator(name) for name in ("items", "keys", "values")},
    **{f"list{name}": _lister(name) for name in ("items", "keys", "values")},
    **{f"view{name}": (lambda m, n=name: getattr(m, n)()) for name in ("items", "keys", "values")},
    "native": lambda value: value,
    "raise_from": _raise_from,
    "string_types": (str,),
    "integer_types": (int,),
}
_PARTS = {"numpy": numpy_names, "future": future_utils}

"""The names that v1's shared-memory modules bound besides their own (docs/v1-behaviour.md §7.3).

``from tensorrtserver.shared_memory import *`` gave scripts all of ctypes, numpy as ``np``
and a handful of helpers, for want of an ``__all__``. The same names are bound here, without
importing setuptools or ``future`` for them.
"""

from __future__ import annotations

import ctypes
import os
import struct
from enum import IntEnum
from functools import partial
from types import ModuleType
from typing import Any, Iterator, Mapping

import numpy as np
from numpy.ctypeslib import ndpointer

from tritonclient_shim.core.lazy_imports import LazyModule


def iteritems(mapping: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Return an iterator over the items, as ``future.utils.iteritems`` did."""
    return iter(mapping.items())


def _from_ctypes() -> dict[str, Any]:
    public = {name: value for name, value in vars(ctypes).items() if not name.startswith("_")}
    return {name: v for name, v in public.items() if not isinstance(v, ModuleType)}


STAR_NAMES: dict[str, Any] = {
    **_from_ctypes(),
    "IntEnum": IntEnum,
    "iteritems": iteritems,
    "ndpointer": ndpointer,
    "np": np,
    "os": os,
    "partial": partial,
    # imported at its first use: slow, deprecated, and gone from setuptools
    "pkg_resources": LazyModule("pkg_resources"),
    "range": range,
    "struct": struct,
}

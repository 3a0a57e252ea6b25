"""The names of other modules that v1's shared-memory modules bound (docs/v1-behaviour.md §7.3).

v1's modules had no ``__all__``, so ``from tensorrtserver.shared_memory import *`` gave scripts all
of ctypes, numpy as ``np`` and other names. This module binds them without setuptools or ``future``.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import struct
from enum import IntEnum
from functools import partial
from types import ModuleType
from typing import Any, Iterator, Mapping

import numpy as np
from numpy.ctypeslib import ndpointer


class LazyModule(ModuleType):
    """A module that is imported when a script asks for one of its attributes."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # repr, copy and inspect ask for these: no reason to import
            raise AttributeError(name)
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def iteritems(mapping: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Return an iterator over the items, as ``future.utils.iteritems`` did.

    Raises
    ------
    AttributeError, TypeError
        `mapping` is none.
    """
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

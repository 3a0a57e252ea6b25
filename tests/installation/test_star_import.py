"""The ledger of ``from tensorrtserver.api import *`` (docs/v1-behaviour.md §1.2): missing, hidden,
added names.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import importlib
import os
import struct
import sys
import threading
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorrtserver.api


def names(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


OWN = names(
    """
    InferContext InferenceServerException ModelControlContext ModelRepositoryContext ProtocolType
    ServerHealthContext ServerStatusContext SharedMemoryControlContext serialize_string_tensor
    """
)
MESSAGES = names(
    """
    DESCRIPTOR InferRequestHeader InferResponseHeader InferSharedMemory ModelRepositoryIndex
    ServerStatus SharedMemoryStatus
    """
)
MODULES = names(
    """
    api_pb2 model__config__pb2 model_config_pb2 np os pkg_resources server_status_pb2 struct sys
    tensorrtserver text_format threading
    """
)
HELPERS = ["IntEnum", "iteritems", "ndpointer", "partial", "range"]
#: The exports of ctypes at that time; an interpreter may lack some (ARRAY, SetPointerType).
CTYPES = names(
    """
    ARRAY ArgumentError Array BigEndianStructure CDLL CFUNCTYPE DEFAULT_MODE LibraryLoader
    LittleEndianStructure POINTER PYFUNCTYPE PyDLL RTLD_GLOBAL RTLD_LOCAL SetPointerType Structure
    Union addressof alignment byref c_bool c_buffer c_byte c_char c_char_p c_double c_float c_int
    c_int16 c_int32 c_int64 c_int8 c_long c_longdouble c_longlong c_short c_size_t c_ssize_t
    c_ubyte c_uint c_uint16 c_uint32 c_uint64 c_uint8 c_ulong c_ulonglong c_ushort c_void_p
    c_voidp c_wchar c_wchar_p cast cdll create_string_buffer create_unicode_buffer get_errno
    memmove memset pointer py_object pydll pythonapi resize set_errno sizeof string_at wstring_at
    """
)


@pytest.fixture(scope="module")
def bound() -> dict[str, Any]:
    """Return the namespace of a script after the star import."""
    namespace: dict[str, Any] = {"__name__": "script"}
    exec("from tensorrtserver.api import *", namespace)
    return {name: value for name, value in namespace.items() if not name.startswith("__")}


@pytest.mark.smoke
def test_nothing_is_missing(bound: dict[str, Any]) -> None:
    """Every name that 1.15 bound is bound (docs/v1-behaviour.md §1.2)."""
    exported = [name for name in CTYPES if hasattr(ctypes, name)]
    assert set(OWN + MESSAGES + MODULES + HELPERS + exported) - set(bound) == set()
    assert len(OWN + MESSAGES + MODULES + HELPERS + CTYPES) == 100  # 98 of 1.11, 2 of 1.12


def test_nothing_is_hidden(bound: dict[str, Any]) -> None:
    """Each name is bound to v1's object, not to a namesake (docs/v1-behaviour.md §1.2)."""
    things: dict[str, Any] = {"sys": sys, "os": os, "np": np, "struct": struct}
    things.update(threading=threading, partial=functools.partial, IntEnum=enum.IntEnum, range=range)
    things.update((name, getattr(ctypes, name)) for name in CTYPES if hasattr(ctypes, name))
    assert [name for name, thing in things.items() if bound[name] is not thing] == []
    assert bound["iteritems"]({"a": 1}).__next__() == ("a", 1)
    assert bound["tensorrtserver"].api is tensorrtserver.api
    assert bound["model__config__pb2"] is bound["model_config_pb2"]
    assert callable(bound["text_format"].MessageToString)
    assert bound["DESCRIPTOR"] is bound["api_pb2"].DESCRIPTOR
    assert all(isinstance(bound[name], ModuleType) for name in MODULES)


def test_home_of_the_classes(bound: dict[str, Any]) -> None:
    """Classes and functions have tensorrtserver.api as their module."""
    # docs/v1-behaviour.md §1.6
    assert {name: bound[name].__module__ for name in OWN} == dict.fromkeys(
        OWN, "tensorrtserver.api"
    )


def test_empty_package() -> None:
    """``import tensorrtserver`` alone has no version and re-exports nothing."""
    # docs/v1-behaviour.md §1.1
    package = importlib.import_module("tensorrtserver")
    assert not hasattr(package, "__version__")
    assert not hasattr(package, "InferContext")


def test_dir_names_what_is_imported_later() -> None:
    """``dir`` lists the names that attribute access imports."""
    # docs/v1-behaviour.md §1.2
    assert {*OWN, *MESSAGES, "api_pb2", "text_format"} - {"DESCRIPTOR"} <= set(
        dir(tensorrtserver.api)
    )

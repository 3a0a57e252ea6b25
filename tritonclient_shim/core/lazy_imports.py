"""Modules that are imported when one of their attributes is first asked for.

``import tensorrtserver.api`` shall cost little more than numpy and protobuf themselves, and
many a program imports it without making a context. Type checkers are shown the real modules::

    if TYPE_CHECKING:
        from tritonclient_shim import control
    else:
        control = LazyModule("tritonclient_shim.session.control")
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class LazyModule(ModuleType):
    """Stands for a module; what has been asked for once is an ordinary attribute afterwards."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # repr, copy and inspect ask for these: no reason to import
            raise AttributeError(name)
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)
        return value

"""Refuses subinterpreters: NumPy, protobuf and gRPC belong to the main interpreter.

NumPy's import fails there from Python 3.12 on, with another reason than this; before, a context
waits for ever, for a lock of one of their libraries. This module is imported with the facade, so
it imports nothing large.
"""

from __future__ import annotations

from importlib import import_module

#: Where Python tells interpreters apart: from 3.13 on, and before.
_MODULES = ("_interpreters", "_xxsubinterpreters")
_REFUSED = (
    "tensorrtserver was imported in a subinterpreter, where NumPy, protobuf and gRPC do not work; "
    "expected the main interpreter; use threads or processes instead, and under mod_wsgi "
    "`WSGIApplicationGroup %{GLOBAL}`"
)


def refuse_subinterpreters() -> None:
    """Raise ImportError where this is not the main interpreter of its process."""
    for name in _MODULES:
        try:
            interpreters = import_module(name)
        except ImportError:  # of another release, or an implementation without subinterpreters
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(_REFUSED)
        return

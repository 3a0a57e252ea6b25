"""Deprecations of this package's own names, as opposed to those of the API it stands in for.

A function that is to go is decorated with :func:`going`; from the release named there on, the
suite fails until it is gone (``deprecation.fail_if_not_removed``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, TypeVar

from deprecation import deprecated

_F = TypeVar("_F", bound=Callable[..., Any])

#: Dotted name → the decorated function.
GOING: dict[str, Callable[..., Any]] = {}


def going(deprecated_in: str, removed_in: str, details: str) -> Callable[[_F], _F]:
    """Decorate a function of ours that warns from one release on and is gone with another."""
    version = import_module("tritonclient_shim").__version__
    decorate = deprecated(deprecated_in, removed_in, version, details)

    def register(function: _F) -> _F:
        decorated: _F = decorate(function)
        GOING[f"{function.__module__}.{function.__qualname__}"] = decorated
        return decorated

    return register

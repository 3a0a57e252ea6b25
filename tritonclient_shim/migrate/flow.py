"""The bindings of a name → those that can be in force where the name is used."""

from __future__ import annotations

import ast
from typing import Iterable

from tritonclient_shim.migrate.scopes import Binding, Path, Place

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def reaching(bindings: Iterable[Binding], use: Place) -> list[Binding]:
    """Return the bindings that reach a use, by the order of statements.

    The last binding before the use in a block around the use ends all earlier bindings. A later
    binding reaches the use in the next turn of a loop. Bindings of another function may always do.
    """
    here = [binding for binding in bindings if binding.place.scope.frame is use.scope.frame]
    last = max(
        (element for element in here if not element.adds and _always_before(element, use)),
        key=lambda binding: binding.order,
        default=None,
    )
    away = [binding for binding in bindings if binding.place.scope.frame is not use.scope.frame]
    return away + [item for item in here if _reaches(item, use, last)]


def _always_before(binding: Binding, use: Place) -> bool:
    path = binding.place.path
    return binding.order <= use.order and use.path[: len(path)] == path


def _reaches(binding: Binding, use: Place, last: Binding | None) -> bool:
    if last and binding.order < last.order and not _again(binding, use, last):
        return False
    if binding.order > use.order:
        return _again(binding, use, last)
    return not _excluded(binding.place.path, use.path) or _again(binding, use, last)


def _again(binding: Binding, use: Place, last: Binding | None) -> bool:
    """True if a loop leads from the binding to the use without the last binding between."""
    around_last = last.place.path if last else ()
    shared = [block for block in binding.place.path if block in use.path]
    return any(isinstance(b[0], _LOOPS) and b not in around_last for b in shared)


def _excluded(path: Path, other: Path) -> bool:
    """True if two statements are in different branches of an ``if``."""
    fields = {id(node): name for node, name in path if isinstance(node, ast.If)}
    return any(fields.get(id(node), name) != name for node, name in other)

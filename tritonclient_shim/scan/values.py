"""The possible values of an expression in a scanned file."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import FrozenSet, Hashable, Iterable, Union

#: Classes of an :class:`Instance` for which v1 has no class. v1 numbered asynchronous requests.
HANDLE = "shared-memory handle"
REQUEST = "asynchronous request"
STATUS = "status of a server"
#: Fields of a status with the statuses of models and of their versions.
STATUSES = ("model_status", "version_status")
_DEPTH = 4  # of nested containers; deeper elements are ignored


@dataclass(frozen=True)
class Symbol:
    """A module, class, function or constant, by its dotted name."""

    name: str


@dataclass(frozen=True)
class Instance:
    """An object of the class with this dotted name.

    ``creation``: the call that makes it, if known.
    """

    of: str
    creation: ast.Call | None = None


@dataclass(frozen=True)
class LocalFunction:
    """A function or lambda of the file. ``bound``: how many arguments it has got already."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    bound: int = 0


@dataclass(frozen=True)
class LocalClass:
    """A class of the file, or an object of it."""

    node: ast.ClassDef
    is_object: bool = False


@dataclass(frozen=True)
class OwnObject:
    """An object of a class of the program in another file. v1 has no part in the class."""

    of: str  # the name of the class


@dataclass(frozen=True)
class Items:
    """A container: what any element can be, and what each can be if all keys are known."""

    any: Values
    keyed: tuple[tuple[Hashable, Values], ...]
    depth: int  # of nested containers, with this one


@dataclass(frozen=True)
class BoundMethod:
    """A method taken from an object of a known class, or from a container."""

    owner: Instance | Items
    name: str


@dataclass(frozen=True)
class Other:
    """Something unknown, beside values that are known. Alone, it is no value."""


#: The value of a literal. Nothing of v1 depends on a literal.
LITERAL = None
OTHER = Other()
Value = Union[
    Symbol, Instance, LocalFunction, LocalClass, OwnObject, Items, BoundMethod, Other, None
]
Values = FrozenSet[Value]
UNKNOWN: Values = frozenset()


def union(sets: Iterable[Values]) -> Values:
    """Return all values of all sets."""
    return frozenset().union(*sets)


def either(sets: Iterable[Values]) -> Values:
    """Return all values of all sets, with OTHER if some sets are unknown."""
    candidates = list(sets)
    values = union(candidates)
    return values | {OTHER} if values and not all(candidates) else values


def items(elements: Iterable[Values], keys: Iterable[Hashable] = ()) -> Values:
    """Return a container with these elements; keys count if there are as many.

    What any element can be has OTHER if some elements are unknown, or all.
    """
    members = tuple(elements)
    known = tuple(keys)
    keyed = tuple(zip(known, members)) if len(known) == len(members) else ()
    any = union(members)
    if not all(members):
        any |= {OTHER}
    depth = 1 + max((item.depth for item in any if isinstance(item, Items)), default=0)
    return frozenset({Items(any, keyed, depth)}) if depth <= _DEPTH else UNKNOWN


def element(values: Values, key: Hashable = None) -> Values:
    """Return what the element at a key, or any element, of such containers can be."""
    elements: Values = frozenset({OTHER} & values)
    for container in values:
        if isinstance(container, Items):
            elements |= dict(container.keyed).get(key, container.any) or _any_of(container)
    return UNKNOWN if elements == {OTHER} else elements


def _any_of(container: Items) -> Values:
    """Return what the element at a known key can be that is unknown itself."""
    return container.any & {OTHER}

"""The possible values of an expression in a scanned file."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import FrozenSet, Hashable, Iterable, Union

#: The class of an :class:`Instance` that is a shared-memory handle; v1 has no class for it.
HANDLE = "shared-memory handle"
#: The class of an :class:`Instance` that is an asynchronous request. v1 numbered requests.
REQUEST = "asynchronous request"
STATUS = "status of a server"
_DEPTH = 4  # of nested containers; deeper elements are ignored
_LENGTH = 50  # longer containers keep no keys


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
    """A function or lambda of the file. A bound one has got its first argument already."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    bound: bool = False


@dataclass(frozen=True)
class LocalClass:
    """A class of the file."""

    node: ast.ClassDef


@dataclass(frozen=True)
class LocalInstance:
    """An object of a class of the file; ``parent``: as ``super()`` sees it."""

    node: ast.ClassDef
    parent: bool = False


@dataclass(frozen=True)
class Items:
    """A container: what its elements can be, with their keys where all of these are known."""

    keys: tuple[Hashable, ...]
    elements: tuple[frozenset[Value], ...]

    @property
    def any(self) -> Values:
        """Return what any element can be."""
        return union(self.elements)

    def at(self, key: Hashable) -> Values:
        """Return what the element at a key can be."""
        if key is not None and key in self.keys:
            return self.elements[self.keys.index(key)]
        return self.any

    @property
    def depth(self) -> int:
        """Return how deep containers are nested."""
        return 1 + max((item.depth for item in self.any if isinstance(item, Items)), default=0)


@dataclass(frozen=True)
class BoundMethod:
    """A method taken from an object of a known class, or from a container."""

    owner: Instance | Items
    name: str


@dataclass(frozen=True)
class Literal:
    """A literal, which nothing of v1 hangs on."""


Value = Union[
    Symbol, Instance, LocalFunction, LocalClass, LocalInstance, Items, BoundMethod, Literal
]
Values = FrozenSet[Value]
UNKNOWN: Values = frozenset()
LITERAL = Literal()


def union(sets: Iterable[Values]) -> Values:
    """Return all values of all sets."""
    return frozenset().union(*sets)


def items(elements: Iterable[Values], keys: Iterable[Hashable] = ()) -> Values:
    """Return a container with these elements; keys count if there are as many."""
    members, known = tuple(elements), tuple(keys)
    if len(members) > _LENGTH or len(members) != len(known):
        members, known = (union(members),), ()
    container = Items(known, members)
    return frozenset({container}) if container.depth <= _DEPTH else UNKNOWN


def element(values: Values, key: Hashable = None) -> Values:
    """Return what the element at a key, or any element, of such containers can be."""
    return union(value.at(key) for value in values if isinstance(value, Items))

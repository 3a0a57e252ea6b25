"""Syntax tree → its scopes, with every binding of every name.

The standard library's ``symtable`` reports the scope of a name, but neither its bindings nor the
node of a table. Its tables differ between the supported Pythons.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum
from typing import Tuple, Union

Path = Tuple[Tuple[ast.AST, str], ...]  # the blocks around a statement: owner and its field
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Kind(Enum):
    """How a name gets its value from a node of the tree."""

    VALUE = "the node's value"
    ENTERED = "what a with statement makes of the node's value"
    RAISED = "an exception of the node's type"
    ANNOTATED = "an object of the annotated type"
    PARAMETER = "what the function is called with"
    DEFINED = "the class or function itself"
    IMPORTED = "what an import names"


@dataclass(frozen=True)
class Definition:
    """The origin of a binding's value.

    ``steps``: the elements taken in turn, None for any; ``wraps``: how many containers the name
    has around that.
    """

    kind: Kind
    node: ast.AST
    steps: tuple[int | None, ...] = ()
    wraps: int = 0
    symbol: str = ""  # of an import


@dataclass(eq=False)
class Scope:
    """A module, function, lambda, class or comprehension, and the names that it binds."""

    node: ast.AST
    parent: Scope | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    returned: list[ast.expr] = field(default_factory=list)
    yielded: list[ast.expr] = field(default_factory=list)

    @property
    def module(self) -> Scope:
        """Return the outermost scope."""
        return self.parent.module if self.parent else self

    @property
    def frame(self) -> Scope:
        """Return the scope whose statements this one's run among: comprehensions and classes do."""
        if self.parent and isinstance(self.node, (ast.ClassDef, *COMPREHENSIONS)):
            return self.parent.frame
        return self

    def owner(self, name: str) -> Scope | None:
        """Return the scope whose binding of the name is seen from this one."""
        if name in self.global_names:
            return self.module if name in self.module.bindings else None
        if name in self.bindings:
            return self
        scope = self.parent
        while scope and (name not in scope.bindings or isinstance(scope.node, ast.ClassDef)):
            scope = scope.parent
        return scope


@dataclass(frozen=True, eq=False)
class Place:
    """Where a statement is: its scope, its number in the order of the text, its blocks."""

    scope: Scope
    order: float
    path: Path


@dataclass(frozen=True, eq=False)
class Binding:
    """A place where a name or attribute gets a value. ``adds``: it keeps earlier values."""

    definition: Definition
    place: Place
    order: float
    adds: bool = False


Node = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]


def parameters(node: Node) -> list[ast.arg]:
    """Return the parameters that can be given by position."""
    return [*getattr(node.args, "posonlyargs", ()), *node.args.args]


def spelt(node: ast.AST) -> str:
    """Return the text of an expression ``a.b.c``; '' for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = spelt(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""

"""Syntax tree → its scopes, every binding of every name, and the bindings that reach a use.

The standard library's ``symtable`` reports the scope of a name, but neither its bindings nor the
node of a table. Its tables differ between the supported Pythons. The library ``beniget`` overlooks
globals that a later function binds. It raises errors for code after ``raise`` and ``case None``.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import AbstractSet, Any, Iterable, Mapping, Tuple

Path = Tuple[Tuple[ast.AST, str], ...]  # the blocks around a statement: owner and its field
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TRANSPARENT = (ast.With, ast.AsyncWith)  # their body runs whenever they do
#: Statements that define functions and classes.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NAMED = (*DEFINITIONS, ast.ExceptHandler)
#: Nodes that bind names. A file has many more nodes of other kinds.
_BINDING = (
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension),
    *(ast.withitem, ast.alias, ast.arg, ast.Global, ast.Return, ast.Yield, ast.Call),
    *_NAMED,
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
#: Fields of such a node and of its ``ast.arguments`` that belong to the new scope.
_INSIDE = frozenset({"body", "args", "posonlyargs", "vararg", "kwonlyargs", "kwarg"})
#: Methods that add their last argument to a container, or all elements of it.
ADDING = frozenset({"append", "appendleft", "add", "insert", "put", "put_nowait"})
EXTENDING = frozenset({"extend", "update"})


@dataclass(eq=False)
class Scope:
    """A module, function, lambda or class, and the names that it binds."""

    node: ast.AST
    parent: Scope | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    declared: dict[str, Scope] = field(default_factory=dict)  # by ``global``: the module
    results: list[ast.expr] = field(default_factory=list)  # what a function returns or yields
    is_generator: bool = False

    def owner(self, name: str) -> Scope | None:
        """Return the scope whose binding of the name is seen from this one."""
        if name in self.bindings:
            return self
        scope = self.declared.get(name, self.parent)
        while scope and (name not in scope.bindings or isinstance(scope.node, ast.ClassDef)):
            scope = scope.parent
        return scope


@dataclass(frozen=True, eq=False)
class Place:
    """Where a statement is: its scope, a number that grows with the text, its blocks."""

    scope: Scope
    order: float
    path: Path


@dataclass(frozen=True, eq=False)
class Binding:
    """A place where a name or attribute gets a value.

    ``node``: the expression of the value, or the node that binds the name. ``steps``: the elements
    taken from it in turn, None for any. ``wraps``: how many containers the name has around that.
    ``adds``: it keeps earlier values.
    """

    node: ast.AST
    place: Place
    steps: tuple[int | None, ...] = ()
    wraps: int = 0
    adds: bool = False

    @property
    def binds(self) -> bool:
        """True if the name gets a value; False if only a container with that name does."""
        return not self.wraps


class Scopes:
    """The scopes of a file. ``attributes``: name of an attribute → assignments to it anywhere."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(tree)
        self.of_node: dict[ast.AST, Scope] = {tree: self.module}
        self.places: dict[ast.AST, Place] = {}
        self.attributes: dict[str, list[tuple[ast.Attribute, Binding]]] = {}
        self._filled: list[tuple[str, Binding]] = []  # names of containers
        self._visit(tree, Place(self.module, 0, ()))
        self.calls = [node for node in self.places if isinstance(node, ast.Call)]
        for name, binding in self._filled:  # whose owner is known only now
            owner = binding.place.scope.owner(name)
            if owner is not None:
                owner.bindings[name].append(binding)

    def owner(self, node: ast.AST) -> Scope | None:
        """Return the scope that binds a variable; None if there is none."""
        return self.places[node].scope.owner(node.id) if isinstance(node, ast.Name) else None

    def bindings(self, node: ast.AST) -> list[Binding]:
        """Return all bindings of a variable."""
        owner = self.owner(node)
        return owner.bindings[last_name(node)] if owner else []

    def _visit(self, node: ast.AST, place: Place, block: Path = ()) -> None:
        """Record the place of a node in a block and what it binds, and visit its parts."""
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            place = Place(place.scope, len(self.places), place.path + block)
        self.places[node] = place
        if isinstance(node, _BINDING):
            self._bind(node, place)
        inside = outside = place
        if isinstance(node, _SCOPES):
            scope = self.of_node[node] = Scope(node, place.scope)
            if isinstance(node, ast.Lambda):
                scope.results.append(node.body)
            inside = Place(scope, place.order, ())
        elif isinstance(node, ast.arguments):  # defaults are outside of the function
            outside = self.places[place.scope.node]
        for name, value in ast.iter_fields(node):
            block = () if isinstance(node, _TRANSPARENT) else ((node, name),)
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.AST):
                    self._visit(part, inside if name in _INSIDE else outside, block)

    def _bind(self, node: Any, place: Place) -> None:
        """Bind what a node binds, and record what a function returns."""
        # the statement itself does not see what it binds
        after = replace(place, order=place.order + 0.5)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, Binding(node.value, after))
        elif isinstance(node, ast.AnnAssign):
            self._assign(node.target, Binding(node, after, adds=node.value is None))
        elif isinstance(node, ast.AugAssign):
            self._assign(node.target, Binding(node.value, after, adds=True))
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._assign(node.target, Binding(node.iter, after, (None,)))
        elif isinstance(node, ast.comprehension):
            # Its names are the function's here. They end no earlier binding of that name.
            self._assign(node.target, Binding(node.iter, place, (None,), adds=True))
        elif isinstance(node, ast.withitem) and node.optional_vars:
            self._assign(node.optional_vars, Binding(node.context_expr, after))
        elif isinstance(node, _NAMED) and node.name:
            self._assign(node.name, Binding(node, after))
        elif isinstance(node, ast.alias) and node.name != "*":
            self._assign(node.asname or node.name.partition(".")[0], Binding(node, after))
        elif isinstance(node, ast.arg):
            self._assign(node.arg, Binding(node, place))
        elif isinstance(node, ast.Global):
            place.scope.declared.update(dict.fromkeys(node.names, self.module))
        elif isinstance(node, (ast.Return, ast.Yield)) and node.value:
            place.scope.results.append(node.value)
            place.scope.is_generator |= isinstance(node, ast.Yield)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            steps = (None,) if node.func.attr in EXTENDING else ()
            if node.args and node.func.attr in ADDING | EXTENDING:
                added = Binding(node.args[-1], after, steps, wraps=1, adds=True)
                self._assign(node.func.value, added)

    def _assign(self, target: ast.AST | str, binding: Binding) -> None:
        """Bind a target or a name."""
        if isinstance(target, ast.Name) and binding.wraps:
            self._filled.append((target.id, binding))
        elif isinstance(target, (str, ast.Name)):
            name = target if isinstance(target, str) else target.id
            scope = binding.place.scope
            scope.declared.get(name, scope).bindings.setdefault(name, []).append(binding)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for number, part in enumerate(target.elts):
                self._assign(part, replace(binding, steps=(*binding.steps, number)))
        elif isinstance(target, ast.Attribute):
            self.attributes.setdefault(target.attr, []).append((target, binding))
        elif isinstance(target, ast.Subscript):
            self._assign(target.value, replace(binding, wraps=binding.wraps + 1, adds=True))


def reaching(bindings: Iterable[Binding], use: Place) -> list[Binding]:
    """Return the bindings that reach a use, by the order of statements.

    The last binding before the use in a block around the use ends all earlier bindings. A later
    binding reaches the use in the next turn of a loop. Bindings of another function may always do.
    """
    here = [binding for binding in bindings if binding.place.scope is use.scope]
    before = [x for x in here if x.place.order <= use.order and not x.adds]
    ends = [x for x in before if use.path[: len(x.place.path)] == x.place.path]
    last = max(ends, key=lambda binding: binding.place.order, default=None)
    return [x for x in bindings if x.place.scope is not use.scope or _reaches(x, use, last)]


def _reaches(binding: Binding, use: Place, last: Binding | None) -> bool:
    """True if a binding comes before the use, or a loop leads from it to the use."""
    if last and binding.place.order < last.place.order:
        return False
    shared = set(binding.place.path) & set(use.path) - set(last.place.path if last else ())
    is_again = any(isinstance(block, _LOOPS) for block, _ in shared)
    return binding.place.order <= use.order or is_again


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Return the parameters that can be given by position."""
    return [*arguments.posonlyargs, *arguments.args]


def with_readers(names: Iterable[str], words: Mapping[ast.stmt, AbstractSet[str]]) -> set[str]:
    """Return names, and those of the definitions that read one of them, also through each other.

    ``words``: the names in each statement.
    """
    reading = set(names)
    size = -1
    while size < len(reading):
        size = len(reading)
        for statement, own_words in words.items():
            if isinstance(statement, DEFINITIONS) and own_words & reading:
                reading.add(statement.name)
    return reading


def last_name(node: ast.AST) -> str:
    """Return the last name of an expression ``a.b.c``, whatever its owner is; '' for any other."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def index(node: ast.Subscript) -> ast.expr:
    """Return the expression in the brackets; Python 3.8 has a node of its own around it."""
    is_wrapped = type(node.slice).__name__ == "Index"
    return node.slice.value if is_wrapped else node.slice  # type: ignore[attr-defined]

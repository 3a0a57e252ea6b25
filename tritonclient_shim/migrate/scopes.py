"""Syntax tree → its scopes, every binding of every name, and the bindings that reach a use.

The standard library's ``symtable`` reports the scope of a name, but neither its bindings nor the
node of a table. Its tables differ between the supported Pythons.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import Any, Iterable, Tuple, Union

Path = Tuple[Tuple[ast.AST, str], ...]  # the blocks around a statement: owner and its field
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda]
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_TRANSPARENT = (ast.With, ast.AsyncWith, ast.Module)  # their body runs whenever they do
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)
#: Methods that put their last argument into a container, or the elements of that argument.
FILLING = frozenset({"append", "appendleft", "add", "insert", "put", "put_nowait"})
ALL_FILLED = frozenset({"extend", "update"})


@dataclass(frozen=True)
class Definition:
    """The origin of a binding's value: an expression, or the node that binds the name.

    ``steps``: the elements taken in turn, None for any; ``wraps``: how many containers the name
    has around that.
    """

    node: ast.AST
    steps: tuple[int | None, ...] = ()
    wraps: int = 0


@dataclass(eq=False)
class Scope:
    """A module, function, lambda or class, and the names that it binds."""

    node: ast.AST
    parent: Scope | None = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    global_names: set[str] = field(default_factory=set)
    returned: list[ast.expr] = field(default_factory=list)
    yielded: list[ast.expr] = field(default_factory=list)

    @property
    def module(self) -> Scope:
        """Return the outermost scope."""
        return self.parent.module if self.parent else self

    @property
    def frame(self) -> Scope:
        """Return the scope whose statements this one's run among: those of a class do."""
        if self.parent and isinstance(self.node, ast.ClassDef):
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


class Scopes(ast.NodeVisitor):
    """The scopes of a file. ``attributes``: name of an attribute → assignments to it anywhere."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope(tree)
        self.of_node: dict[ast.AST, Scope] = {tree: self.module}
        self.places: dict[ast.AST, Place] = {}
        self.attributes: dict[str, list[tuple[ast.Attribute, Binding]]] = {}
        self.calls: list[ast.Call] = []
        self.defaults: dict[ast.AST, ast.expr] = {}  # of parameters
        self._scope, self._order = self.module, 0.0
        self._path: Path = ()
        self._place = Place(self.module, 0.0, ())
        self._later: list[tuple[Scope, str, Binding]] = []
        self.visit(tree)
        for scope, name, binding in self._later:  # whose owner is known only now
            owner = scope.owner(name)
            if owner is not None:
                owner.bindings[name].append(binding)

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class whose method the node is in."""
        scope: Scope | None = self.places[node].scope
        while scope is not None and not isinstance(scope.node, ast.ClassDef):
            scope = scope.parent
        return scope.node if scope else None  # type: ignore[return-value]

    def is_global(self, node: ast.AST) -> bool:
        """True for a variable of the module."""
        place = self.places.get(node)
        return (
            isinstance(node, ast.Name)
            and place is not None
            and (place.scope.owner(node.id) is self.module)
        )

    def bindings(self, node: ast.AST) -> list[Binding]:
        """Return all bindings of a variable."""
        place = self.places.get(node)
        owner = place.scope.owner(node.id) if place and isinstance(node, ast.Name) else None
        return list(owner.bindings[node.id]) if owner else []  # type: ignore[attr-defined]

    def visit(self, node: ast.AST) -> None:
        """Record the place of a node and what it binds, and visit its parts."""
        outer = self._place
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            self._order += 1
            self._place = Place(self._scope, self._order, self._path)
        self.places[node] = self._place
        self._bind(node)
        super().visit(node)
        self._place = outer

    def generic_visit(self, node: ast.AST) -> None:
        """Visit the parts of a node, those in its blocks as such."""
        for name, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            path = self._path
            is_block = name in _BLOCKS and isinstance(value, list)
            if is_block and not isinstance(node, _TRANSPARENT):
                self._path = (*path, (node, name))
            self._each(parts)
            self._path = path

    def visit_FunctionDef(self, node: Function) -> None:
        arguments, own = node.args, parameters(node)
        pairs = [
            *zip(reversed(own), reversed(arguments.defaults)),
            *zip(arguments.kwonlyargs, arguments.kw_defaults),
        ]
        self.defaults.update((argument, value) for argument, value in pairs if value is not None)
        self._each([*arguments.defaults, *arguments.kw_defaults])
        self._each([*getattr(node, "decorator_list", ()), getattr(node, "returns", None)])
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        own = [*own, *arguments.kwonlyargs, *filter(None, [arguments.vararg, arguments.kwarg])]
        self._inside(node, [*own, *body], ())

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._each([*node.decorator_list, *node.bases, *node.keywords])
        self._inside(node, node.body, self._path)

    def _inside(self, node: ast.AST, parts: Iterable[ast.AST], path: Path) -> None:
        """Visit parts of a node in a scope of their own."""
        outer = self._scope, self._place, self._path
        self._scope, self._path = Scope(node, self._scope), path
        self.of_node[node] = self._scope
        self._place = Place(self._scope, self._place.order, path)
        if isinstance(node, ast.Lambda):
            self._scope.returned.append(node.body)
        self._each(parts)
        self._scope, self._place, self._path = outer

    def _each(self, nodes: Iterable[object]) -> None:
        for node in nodes:
            if isinstance(node, ast.AST):
                self.visit(node)

    # --- bindings

    def _assign(
        self,
        target: ast.AST | str,
        definition: Definition,
        adds: bool = False,
        late: float = 0.5,
    ) -> None:
        """Bind a target or a name. Its statement sees the binding only if ``late`` is 0."""
        binding = Binding(definition, self._place, self._place.order + late, adds)
        if isinstance(target, (str, ast.Name)):
            name = target if isinstance(target, str) else target.id
            owner = self._scope.module if name in self._scope.global_names else self._scope
            owner.bindings.setdefault(name, []).append(binding)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for number, part in enumerate(target.elts):
                steps = (*definition.steps, number)
                self._assign(part, replace(definition, steps=steps), adds, late)
        elif isinstance(target, ast.Attribute):
            self.attributes.setdefault(target.attr, []).append((target, binding))
        elif isinstance(target, ast.Subscript):
            self._fill(target.value, definition)

    def _fill(self, target: ast.AST, definition: Definition, wraps: int = 1) -> None:
        """Add elements to a container, which may itself be an element of containers."""
        while isinstance(target, ast.Subscript):
            target, wraps = target.value, wraps + 1
        definition = replace(definition, wraps=definition.wraps + wraps)
        if isinstance(target, ast.Name):
            binding = Binding(definition, self._place, self._place.order + 0.5, True)
            self._later.append((self._scope, target.id, binding))
        elif isinstance(target, ast.Attribute):
            self._assign(target, definition, adds=True)

    def _bind(self, node: Any) -> None:
        """Bind what a node binds, and record what a function returns."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, Definition(node.value))
        elif isinstance(node, ast.AnnAssign):
            self._assign(node.target, Definition(node), adds=node.value is None)
        elif isinstance(node, ast.AugAssign):
            self._assign(node.target, Definition(node.value), adds=True)
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            self._assign(node.target, Definition(node.iter, (None,)))
        elif isinstance(node, ast.comprehension):
            # Its names are the function's here. They end no earlier binding of that name.
            self._assign(node.target, Definition(node.iter, (None,)), adds=True, late=0)
        elif isinstance(node, ast.withitem) and node.optional_vars:
            self._assign(node.optional_vars, Definition(node.context_expr))
        elif isinstance(node, _NAMED) and node.name:
            self._assign(node.name, Definition(node))
        elif isinstance(node, ast.alias) and node.name != "*":
            self._assign(node.asname or node.name.partition(".")[0], Definition(node))
        elif isinstance(node, ast.arg):
            self._assign(node.arg, Definition(node), late=0)
        elif isinstance(node, ast.Global):
            self._scope.global_names.update(node.names)
        elif isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, ast.Return) and node.value:
            self._scope.returned.append(node.value)
        elif isinstance(node, ast.Yield) and node.value:
            self._scope.yielded.append(node.value)

    def _call(self, node: ast.Call) -> None:
        self.calls.append(node)
        method = node.func
        if isinstance(method, ast.Attribute) and node.args:
            if method.attr in FILLING:
                self._fill(method.value, Definition(node.args[-1]))
            elif method.attr in ALL_FILLED:
                self._fill(method.value, Definition(node.args[-1]), wraps=0)


# ------------------------------------------------------------ the bindings that reach a use


def reaching(bindings: Iterable[Binding], use: Place) -> list[Binding]:
    """Return the bindings that reach a use, by the order of statements.

    The last binding before the use in a block around the use ends all earlier bindings. A later
    binding reaches the use in the next turn of a loop. Bindings of another function may always do.
    """
    frame = use.scope.frame
    here = [binding for binding in bindings if binding.place.scope.frame is frame]
    last = max(
        (element for element in here if not element.adds and _always_before(element, use)),
        key=lambda binding: binding.order,
        default=None,
    )
    return [x for x in bindings if x.place.scope.frame is not frame or _reaches(x, use, last)]


def _always_before(binding: Binding, use: Place) -> bool:
    path = binding.place.path
    return binding.order <= use.order and use.path[: len(path)] == path


def _reaches(binding: Binding, use: Place, last: Binding | None) -> bool:
    """True if a binding comes before the use, or a loop leads from it to the use."""
    if last and binding.order < last.order:
        return False
    shared = set(binding.place.path) & set(use.path) - set(last.place.path if last else ())
    is_again = any(isinstance(block, _LOOPS) for block, _ in shared)
    return binding.order <= use.order or is_again


# ------------------------------------------------------------------------------- syntax


def parameters(node: Function) -> list[ast.arg]:
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


def last_name(node: ast.AST) -> str:
    """Return the last name of an expression ``a.b.c``, whatever its owner is; '' for any other."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def index(node: ast.Subscript) -> ast.expr:
    """Return the expression in the brackets; Python 3.8 has a node of its own around it."""
    is_wrapped = type(node.slice).__name__ == "Index"
    return node.slice.value if is_wrapped else node.slice  # type: ignore[attr-defined]

"""Syntax tree → :class:`Scopes`: which scope each node is in, and what binds each name."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Iterator, Sequence

from tritonclient_shim.migrate.imports import Imports
from tritonclient_shim.migrate.scopes import (
    COMPREHENSIONS,
    Binding,
    Definition,
    Kind,
    Node,
    Path,
    Place,
    Scope,
    parameters,
)

_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_TRANSPARENT = (ast.With, ast.AsyncWith, ast.Module)  # their body runs whenever they do
_FILLING = frozenset({"append", "appendleft", "add", "insert", "setdefault", "put", "extend"})
_ALL_FILLED = frozenset({"extend", "update"})  # the argument's elements, not the argument


class Scopes(ast.NodeVisitor):
    """The scopes of a file. ``attributes``: name of an attribute → assignments to it anywhere."""

    def __init__(self, tree: ast.Module, imports: Imports) -> None:
        self.module = Scope(tree)
        self.of_node: dict[ast.AST, Scope] = {tree: self.module}
        self.places: dict[ast.AST, Place] = {}
        self.attributes: dict[str, list[tuple[ast.Attribute, Binding]]] = {}
        self.calls: list[ast.Call] = []
        self.decorated: list[tuple[ast.expr, Node]] = []  # decorator and its function
        self.defaults: dict[ast.AST, ast.expr] = {}  # of parameters
        self._imports = imports
        self._scope, self._order = self.module, 0.0
        self._path: Path = ()
        self._case: Path = ()  # of the case whose pattern is visited
        self._place = Place(self.module, 0.0, ())
        self._later: list[tuple[Scope, str, Binding]] = []
        self.visit(tree)
        for scope, name, binding in self._later:  # whose owner is known only now
            owner = scope.owner(name)
            if owner is not None:
                owner.bindings[name].append(binding)

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class whose method the node is in."""
        scope = self.places[node].scope
        while scope.parent is not None:
            scope = scope.parent
            if isinstance(scope.node, ast.ClassDef):
                return scope.node
        return None

    def visit(self, node: ast.AST) -> None:
        """Record the place of a node, and visit it."""
        outer = self._place
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            self._order += 1
            self._place = Place(self._scope, self._order, self._path)
        self.places[node] = self._place
        super().visit(node)
        self._place = outer

    def generic_visit(self, node: ast.AST) -> None:
        """Visit the parts of a node, those in its blocks as such."""
        for name, value in ast.iter_fields(node):
            parts = value if isinstance(value, list) else [value]
            block = name in _BLOCKS and isinstance(value, list)
            path = self._path
            if block and not isinstance(node, _TRANSPARENT):
                self._path = (*path, (node, name))
            self._each(part for part in parts if isinstance(part, ast.AST))
            self._path = path

    def _each(self, nodes: Iterator[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    @contextmanager
    def _inside(self, node: ast.AST) -> Iterator[Scope]:
        """Enter the scope of a node while its parts are visited."""
        outer, place = self._scope, self._place
        self._scope = self.of_node[node] = Scope(node, outer)
        path = place.path if self._scope.frame is outer.frame else ()
        self._place = replace(place, scope=self._scope, path=path)
        yield self._scope
        self._scope, self._place = outer, place

    # --- bindings

    def _bind(
        self, name: str, definition: Definition, adds: bool = False, late: float = 0.5
    ) -> None:
        """Bind a name; the statement itself sees that only where ``late`` is 0."""
        binding = Binding(definition, self._place, self._place.order + late, adds)
        scope = self._scope
        if name in scope.nonlocal_names and scope.parent:
            self._later.append((scope.parent, name, binding))
            return
        owner = scope.module if name in scope.global_names else scope
        owner.bindings.setdefault(name, []).append(binding)

    def _assign(self, target: ast.AST, definition: Definition, adds: bool = False) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, definition, adds)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for number, part in enumerate(target.elts):
                if isinstance(part, ast.Starred):  # gets the other elements, as a container
                    self._assign(part.value, definition)
                else:
                    self._assign(part, replace(definition, steps=(*definition.steps, number)))
        elif isinstance(target, ast.Starred):  # compiling reports a target with only this
            self._assign(target.value, definition, adds)
        elif isinstance(target, ast.Attribute):
            binding = Binding(definition, self._place, self._place.order + 0.5, adds)
            self.attributes.setdefault(target.attr, []).append((target, binding))
        else:
            assert isinstance(target, ast.Subscript), ast.dump(target)
            self._fill(target.value, definition, 1)

    def _fill(self, target: ast.AST, definition: Definition, wraps: int) -> None:
        definition = replace(definition, wraps=definition.wraps + wraps)
        if isinstance(target, ast.Name):
            binding = Binding(definition, self._place, self._place.order + 0.5, True)
            self._later.append((self._scope, target.id, binding))
        elif isinstance(target, ast.Attribute):
            self._assign(target, definition, adds=True)
        elif isinstance(target, ast.Subscript):
            self._fill(target.value, definition, 1)
        elif isinstance(target, ast.Call) and getattr(target.func, "attr", "") == "setdefault":
            self._fill(target.func.value, definition, 1)  # type: ignore[attr-defined]

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            self._assign(target, Definition(Kind.VALUE, node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        self._assign(node.target, Definition(Kind.ANNOTATED, node), adds=node.value is None)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        self._assign(node.target, Definition(Kind.VALUE, node.value), adds=True)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.generic_visit(node)
        outer = self._scope
        while isinstance(self._scope.node, COMPREHENSIONS) and self._scope.parent:
            self._scope = self._scope.parent
        self._bind(node.target.id, Definition(Kind.VALUE, node.value), late=0)
        self._scope = outer

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._assign(node.target, Definition(Kind.VALUE, node.iter, (None,)))
        self.generic_visit(node)

    visit_AsyncFor = visit_For

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._assign(item.optional_vars, Definition(Kind.ENTERED, item.context_expr))
        self.generic_visit(node)

    visit_AsyncWith = visit_With

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name and node.type is not None:
            self._bind(node.name, Definition(Kind.RAISED, node.type))
        self.generic_visit(node)

    def visit_match_case(self, node: Any) -> None:  # Python 3.8 has no such classes
        self._case = (*self._path, (node, "body"))
        self.generic_visit(node)

    def visit_MatchAs(self, node: Any) -> None:
        """Bind the name of a pattern; nothing is known of its value."""
        name = getattr(node, "rest", None) or getattr(node, "name", None)
        if name:
            outer = self._place
            self._place = replace(outer, path=self._case)
            self._bind(name, Definition(Kind.VALUE, node))
            self._place = outer
        self.generic_visit(node)

    visit_MatchStar = visit_MatchMapping = visit_MatchAs

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            symbol = self._imports.symbol(alias.name, 0)
            local = alias.asname or alias.name.partition(".")[0]
            if not alias.asname and "." in alias.name:
                symbol = local
            self._bind(local, Definition(Kind.IMPORTED, node, symbol=symbol))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            symbol = self._imports.member(node, alias.name)
            if alias.name != "*":
                self._bind(
                    alias.asname or alias.name, Definition(Kind.IMPORTED, node, symbol=symbol)
                )

    def visit_Global(self, node: ast.Global) -> None:
        self._scope.global_names.update(node.names)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self._scope.nonlocal_names.update(node.names)

    def visit_Call(self, node: ast.Call) -> None:
        self.calls.append(node)
        self.generic_visit(node)
        method = node.func
        if isinstance(method, ast.Attribute) and node.args:
            if method.attr in _FILLING - _ALL_FILLED:
                self._fill(method.value, Definition(Kind.VALUE, node.args[-1]), 1)
            elif method.attr in _ALL_FILLED:
                self._fill(method.value, Definition(Kind.VALUE, node.args[-1]), 0)

    # --- scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._each(iter([*node.decorator_list, *([node.returns] if node.returns else [])]))
        self._bind(node.name, Definition(Kind.DEFINED, node))
        self._function(node, node.body)
        self.decorated += ((item, node) for item in node.decorator_list)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node, [node.body])
        self.of_node[node].returned.append(node.body)

    def _function(self, node: Node, body: Sequence[ast.AST]) -> None:
        arguments, path = node.args, self._path
        outer: list[ast.expr | None] = [*arguments.defaults, *arguments.kw_defaults]
        own = [*ast.walk(arguments)]
        last_first = zip(reversed(parameters(node)), reversed(arguments.defaults))
        self.defaults.update(last_first)
        by_name = zip(arguments.kwonlyargs, arguments.kw_defaults)
        self.defaults.update((argument, value) for argument, value in by_name if value is not None)
        self._each(iter([item for item in outer if item is not None]))
        with self._inside(node):
            self._path = ()
            for argument in own:
                if isinstance(argument, ast.arg):
                    self.visit(argument)
                    self._bind(argument.arg, Definition(Kind.PARAMETER, argument), late=0)
            self._each(iter(body))
        self._path = path

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._each(iter([*node.decorator_list, *node.bases, *node.keywords]))
        self._bind(node.name, Definition(Kind.DEFINED, node))
        with self._inside(node):
            self._each(iter(node.body))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._scope.returned.append(node.value)
        self.generic_visit(node)

    def visit_Yield(self, node: ast.Yield) -> None:
        if node.value is not None:
            self._scope.yielded.append(node.value)
        self.generic_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        self._scope.yielded.append(node)
        self.generic_visit(node)

    def visit_ListComp(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        self.visit(node.generators[0].iter)  # in the scope around it
        with self._inside(node):
            for number, generator in enumerate(node.generators):
                self._comprehension(generator, bool(number))
            parts = (getattr(node, name, None) for name in ("elt", "key", "value"))
            self._each(part for part in parts if part is not None)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _comprehension(self, node: ast.comprehension, further: bool) -> None:
        if further:
            self.visit(node.iter)
        self.visit(node.target)
        outer = self._place
        self._place = replace(outer, order=outer.order - 0.5)  # bound before its parts are read
        self._assign(node.target, Definition(Kind.VALUE, node.iter, (None,)))
        self._place = outer
        self._each(iter(node.ifs))

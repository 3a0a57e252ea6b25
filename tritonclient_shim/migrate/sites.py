"""Parsed source → its legacy uses."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tritonclient_shim.migrate.entries import async_style, entries_of, module_entry, skipped
from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API, Imports, imported
from tritonclient_shim.migrate.patterns import patterns_in
from tritonclient_shim.migrate.sources import ParsedSource
from tritonclient_shim.migrate.values import Symbol


@dataclass(frozen=True)
class Site:
    """One legacy use: its id, its node, and the call whose function or argument it is."""

    id: str
    node: ast.AST
    call: ast.Call | None = None

    @property
    def whole(self) -> ast.AST:
        """Return the call, of a use that is one; else the node itself."""
        return self.node if self.call is None else self.call

    @property
    def line(self) -> int:
        """Return the line of the source, from 1."""
        return int(getattr(self.node, "lineno", 1))

    @property
    def offset(self) -> int:
        """Return where it begins in its line, in bytes of UTF-8."""
        return int(getattr(self.node, "col_offset", 0))


def evaluated(source: ParsedSource) -> Evaluator:
    """Return what the expressions of a source can stand for."""
    return Evaluator(source.tree, Imports(source.tree, source.path))


def sites(source: ParsedSource, evaluator: Evaluator) -> list[Site]:
    """Return every legacy use in a source, in the order of a walk through its tree."""
    finder = _Finder(evaluator)
    finder.visit(source.tree)
    return finder.uses


class _Finder(ast.NodeVisitor):
    """A visitor that collects the legacy uses of a syntax tree."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.uses: list[Site] = []
        self._evaluator = evaluator
        self._imports = evaluator.imports
        self._unused: set[ast.expr] = set()  # calls whose value is not used
        self._called: set[ast.expr] = set()  # functions of calls that have been seen
        self._star_seen: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._module(node, self._imports.symbol(alias.name, 0))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "" if node.level else node.module or ""
        if module == API and node.names[0].name == "*":
            self._add(node, "TS001")
            return
        for alias in node.names:
            self._module(node, self._imports.member(node, alias.name))

    def _module(self, node: ast.AST, name: str) -> None:
        id = module_entry(name)
        if id:
            self._add(node, id)

    def visit_Expr(self, node: ast.Expr) -> None:
        self._unused.add(node.value)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._reference(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        is_legacy = self._reference(node)
        owners = self._evaluator.of(node.value)
        if not is_legacy or not any(isinstance(item, Symbol) for item in owners):
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        before = skipped(node, self._evaluator)
        for id in entries_of(node.func, self._evaluator, node):
            if id == "TS052":
                id = async_style(node, self._evaluator, before, node not in self._unused)
            self._add(node.func, id, node)
            self._called.add(node.func)
            for pattern in patterns_in(id, node, self._evaluator, before):
                self._add(node, pattern, node)
        self._module(node, imported(node))
        self.generic_visit(node)

    def _reference(self, node: ast.Name | ast.Attribute) -> bool:
        """Note what a name or attribute stands for. True if that is anything of v1."""
        if not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Name) and self._evaluator.is_provided(node):
            self._from_star(node)
        if node in self._called:
            return True
        ids = entries_of(node, self._evaluator) if self._evaluator.names(node) else []
        for id in ids:
            self._add(node, id)
        return bool(ids)

    def _from_star(self, node: ast.Name) -> None:
        """Note the first use of a name that only v1's star import binds."""
        known = self._imports.star[node.id]
        if not known.startswith("tensorrtserver.") and node.id not in self._star_seen:
            self._star_seen.add(node.id)
            self._add(node, "TS002")

    def _add(self, node: ast.AST, id: str, call: ast.Call | None = None) -> None:
        self.uses.append(Site(id, node, call))

"""Syntax tree → what its names stand for: imported names, contexts and handles."""

from __future__ import annotations

import ast
import os
from contextlib import contextmanager
from typing import Iterator

from tritonclient_shim.migrate.sources import Unreadable, read
from tritonclient_shim.registry import BY_SYMBOL
from tritonclient_shim.shm.star_names import STAR_NAMES

API = "tensorrtserver.api"
_MODULES = (API, "tensorrtserver.shared_memory", "tensorrtserver.cuda_shared_memory")
_EXTRA = {"sys", "threading", "text_format"}  # v1's api module bound these, too
HANDLE = "shared-memory handle"


def star_of(module: str) -> dict[str, str]:
    """A v1 module → the names that its star import binds, and what each stands for."""
    found = {name: f"star import: {name}" for name in {*STAR_NAMES, *_EXTRA} - {"range"}}
    for symbol in BY_SYMBOL:
        owner, _, name = symbol.rpartition(".")
        if owner == module:
            found[name] = symbol
    return {**found, "np": "numpy"}


def spelt(node: ast.AST) -> str:
    """Expression ``a.b.c`` → its text; '' for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = spelt(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


class Bindings:
    """What the names in one file stand for. Scopes are not distinguished."""

    def __init__(self, tree: ast.Module, path: str) -> None:
        self.names: dict[str, str] = {}  # local name → dotted name
        self.star: dict[str, str] = {}  # names that a star import alone provides
        self.legacy = False  # the file imports tensorrtserver, itself or through another
        self._path = path
        self._visited = {os.path.abspath(path)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        for name in _bound(tree):
            self.star.pop(name, None)
        self._assignments(tree)

    def resolve(self, node: ast.AST) -> str:
        """Expression → the dotted name that it stands for; '' where that is unknown."""
        whole = spelt(node)
        head = whole
        while head:
            known = self.names.get(head) or self.star.get(head)
            if known:
                return known + whole[len(head) :]
            head = head.rpartition(".")[0]
        return ""

    @contextmanager
    def as_self(self, kind: str) -> Iterator[None]:
        """While a class is visited, ``self`` stands for an object of this kind, if it is ours."""
        outer = self.names.pop("self", None)
        if kind.startswith("object:"):
            self.names["self"] = kind
        yield
        self.names.pop("self", None)
        if outer is not None:
            self.names["self"] = outer

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            self.names[alias.asname or target] = target
            self._see(alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        self._see(module)
        for alias in node.names:
            if alias.name == "*":
                self._star(module, node.level)
            elif not node.level:
                self.names[alias.asname or alias.name] = f"{module}.{alias.name}"

    def _see(self, module: str) -> None:
        self.legacy = self.legacy or f"{module}.".startswith("tensorrtserver.")

    def _star(self, module: str, level: int) -> None:
        if module in _MODULES:
            self.star.update(star_of(module))
        elif module:
            self._star_of_neighbour(module, level)

    def _star_of_neighbour(self, module: str, level: int) -> None:
        """A star import of a file beside this one also binds what that file star-imports."""
        folder = os.path.dirname(self._path)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        path = os.path.join(folder, *module.split(".")) + ".py"
        if os.path.abspath(path) in self._visited or not os.path.exists(path):
            return
        self._visited.add(os.path.abspath(path))
        try:
            tree = read(path).tree
        except Unreadable:
            return
        own, self._path = self._path, path
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                self._see(node.module or "")
                self._star(node.module or "", node.level)
        self._path = own

    def _assignments(self, tree: ast.Module) -> None:
        """Note derived classes, and the variables that hold a context or a handle."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self._derived(node)
        for node in ast.walk(tree):
            for target, value in _assigned(node):
                kind = self._made_by(value)
                if kind and spelt(target):
                    self.names[spelt(target)] = kind

    def _derived(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            symbol = self.resolve(base)
            if symbol in BY_SYMBOL and symbol.startswith(API):
                self.names[node.name] = f"derived:{symbol}"

    def _made_by(self, value: ast.AST) -> str:
        if not isinstance(value, ast.Call):
            return ""
        symbol = self.resolve(value.func).replace("derived:", "")
        if symbol.endswith(".create_shared_memory_region"):
            return HANDLE
        is_class = symbol in BY_SYMBOL and symbol.rpartition(".")[2][:1].isupper()
        return f"object:{symbol}" if is_class else ""


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Statement → its pairs of target and value: ``=``, ``:=`` and ``with ... as``."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def _bound(tree: ast.Module) -> Iterator[str]:
    """Every name that the file binds itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((one.asname or one.name).partition(".")[0] for one in node.names)

"""Parsed source → its legacy uses, as rows of the usage report."""

from __future__ import annotations

import ast

from tritonclient_shim.migrate.bindings import API, Bindings, spelt
from tritonclient_shim.migrate.patterns import patterns_in
from tritonclient_shim.migrate.restore import NUMPY_NAMES
from tritonclient_shim.migrate.sources import ParsedSource
from tritonclient_shim.registry import BY_SYMBOL, ENTRIES
from tritonclient_shim.registry.entry import RegistryEntry
from tritonclient_shim.usage.rows import UsageRow, relative

#: Methods with such names are taken for v1's, whatever object they are called on.
_UNMISTAKABLE = (
    *("get_server_status", "get_model_repository_index", "get_shared_memory_status"),
    *("cuda_register", "async_run", "async_run_with_cb", "get_async_run_results"),
    *("get_ready_async_request", "get_stat", "get_last_request_id"),
    *("get_last_request_model_name", "get_last_request_model_version"),
)
_BY_METHOD = {
    symbol.rpartition(".")[2]: symbol
    for symbol in BY_SYMBOL
    if symbol.startswith(f"{API}.") and symbol.rpartition(".")[2] in _UNMISTAKABLE
}
#: ``typeDict`` is reported, too, but not put back.
_REMOVED_FROM_NUMPY = frozenset({*NUMPY_NAMES, "typeDict"})
_IMPORTERS = frozenset({"importlib.import_module", "__import__"})


def scan(source: ParsedSource) -> list[UsageRow]:
    """Every legacy use in the source, each once per line, in the order of lines."""
    finder = _Finder(Bindings(source.tree, source.path))
    finder.visit(source.tree)
    found = {(line, source.column(line, at), id) for (line, id), at in finder.found.items()}
    found.update((line, source.async_column(line), "TS202") for line in source.async_lines)
    return [_row(source, *one) for one in sorted(found)]


def _row(source: ParsedSource, line: int, column: int, id: str) -> UsageRow:
    cell, number = source.place(line)
    path, text = relative(source.path), source.snippet(line)
    return UsageRow(ENTRIES[id], path, number, cell=cell, column=column, snippet=text)


def entry_of(symbol: str) -> RegistryEntry | None:
    """Dotted name → its entry, or else the entry of what it belongs to."""
    while symbol:
        if symbol in BY_SYMBOL:
            return BY_SYMBOL[symbol]
        symbol = symbol.rpartition(".")[0]
    return None


def _member(symbol: str) -> RegistryEntry | None:
    """``tensorrtserver.api.InferContext.run`` → its entry; None where there is none."""
    if symbol.count(".") != 3:
        return None
    if symbol.endswith("Context.get_last_request_id") and symbol not in BY_SYMBOL:
        return ENTRIES["TS046"]
    return BY_SYMBOL.get(symbol)


class _Finder(ast.NodeVisitor):
    """Visits a syntax tree and keeps each legacy use once per line, where the line has it first."""

    def __init__(self, bindings: Bindings) -> None:
        self.found: dict[tuple[int, str], int] = {}  # line and id → offset in the line
        self._bindings = bindings
        self._unused: set[ast.expr] = set()  # calls whose value is not used
        self._called: set[ast.expr] = set()  # functions of calls that have been seen
        self._star_seen: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._module(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "" if node.level else node.module or ""
        if module == API and node.names[0].name == "*":
            self._add(node, "TS001")
            return
        for alias in node.names:
            self._module(node, f"{module}.{alias.name}")

    def _module(self, node: ast.AST, name: str) -> None:
        if name.startswith("future.") or name == "future":
            self._add(node, "TS203")
        if f"{name}.".startswith("tensorrtserver."):
            entry = entry_of(name)
            self._add(node, entry.id if entry and entry.kind == "import" else "TS009")

    def visit_Expr(self, node: ast.Expr) -> None:
        self._unused.add(node.value)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        derived = self._bindings.names.get(node.name, "")
        with self._bindings.as_self(derived.replace("derived:", "object:")):
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._reference(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not self._reference(node):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        id = self._id_of(node.func, node)
        if id:
            self._add(node.func, id)
            self._called.add(node.func)
            for pattern in patterns_in(id, node, self._bindings):
                self._add(node, pattern)
        elif spelt(node.func) in _IMPORTERS and node.args:
            self._module(node, str(getattr(node.args[0], "value", "")))
        self.generic_visit(node)

    def _reference(self, node: ast.Name | ast.Attribute) -> bool:
        if isinstance(node.ctx, ast.Store):
            return False
        if isinstance(node, ast.Name) and node.id in self._bindings.star:
            self._from_star(node)
        if node in self._called:
            return True
        id = self._id_of(node, None)
        if id:
            self._add(node, id)
        return bool(id)

    def _from_star(self, node: ast.Name) -> None:
        """Note the first use of a name that only v1's star import binds."""
        known = self._bindings.star[node.id]
        if not known.startswith("tensorrtserver.") and node.id not in self._star_seen:
            self._star_seen.add(node.id)
            self._add(node, "TS002")

    def _id_of(self, node: ast.expr, call: ast.Call | None) -> str:
        entry = self._entry_of(node)
        if entry is None or entry.kind == "import" and isinstance(node, ast.Name):
            return ""
        if entry.id == "TS052" and call is not None and self._returns_id(call):
            return "TS053"
        return entry.id

    def _entry_of(self, node: ast.expr) -> RegistryEntry | None:
        name = self._bindings.resolve(node)
        if name.startswith("object:"):
            return _member(name[len("object:") :])
        if name.startswith("numpy.") and name[len("numpy.") :] in _REMOVED_FROM_NUMPY:
            return ENTRIES["TS201"]
        if name.startswith("tensorrtserver."):
            return entry_of(name)
        if isinstance(node, ast.Attribute) and self._bindings.legacy:
            return BY_SYMBOL.get(_BY_METHOD.get(node.attr, ""))
        return None

    def _returns_id(self, call: ast.Call) -> bool:
        """Whether it is ``async_run`` before 1.8: a dict comes first, or the result is used."""
        keywords = {one.arg for one in call.keywords}
        if call.args and isinstance(call.args[0], ast.Dict):
            return True
        return call not in self._unused and "callback" not in keywords

    def _add(self, node: ast.AST, id: str) -> None:
        key, offset = (getattr(node, "lineno", 1), id), getattr(node, "col_offset", 0)
        self.found[key] = min(offset, self.found.get(key, offset))

"""The imports at the top of a file, once its body is rewritten.

Works on the rewritten text: a legacy import goes when nothing uses what it binds any more.
"""

from __future__ import annotations

import ast
from typing import Mapping

import libcst as cst

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.scopes import Kind
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.emitted import MODULE

_PROTOCOL = "ProtocolType"
_IMPORT = (ast.Import, ast.ImportFrom)
_PACKAGE = "tensorrtserver"
_CONFIG = f"{API}.model_config_pb2"
#: Names of v1's star import, and the lines that import them; others are of ctypes.
_PROVIDED = {
    "np": "import numpy as np",
    **{name: f"import {name}" for name in ("sys", "os", "struct", "threading", "pkg_resources")},
    "partial": "from functools import partial",
    "IntEnum": "from enum import IntEnum",
    "ndpointer": "from numpy.ctypeslib import ndpointer",
    "text_format": "from google.protobuf import text_format",
}
_SUCCESSORS = {
    "InferenceServerException": "from tritonclient.utils import InferenceServerException",
    "model_config_pb2": "from tritonclient.grpc import model_config_pb2",
}
_SHARED_MEMORY = {"tensorrtserver.shared_memory": "tritonclient.utils.shared_memory"}


class FileHeader:
    """Rewrites the imports of a draft, which is what another one has been made to."""

    def __init__(self, draft: Draft, first: Draft) -> None:
        self._memory = not first.memory
        self._draft, modules = draft, first.modules
        self._taken = draft.beside.taken
        called = {name: first.called(name) for name in first.helpers | self._functions_of_star()}
        called = {name: own for name, own in called.items() if self._reads(own)}
        self.helpers = frozenset(called)
        self._own = self.helpers & {_PROTOCOL}
        clients = {f"{one}client" for one in modules if self._reads(f"{one}client")}
        self._emitted = {*called.values(), *clients}
        self._needed = {*first.imports, *(f"import tritonclient.{c[:4]} as {c}" for c in clients)}
        if called:
            self._needed.add(_helpers_line(called, draft))
        self._removed: list[ast.stmt] = []
        self._has_star = False
        self._anchor: cst.CSTNode | None = None

    def rewrite(self) -> None:
        """Replace the legacy imports, and put functions below the imports."""
        for node in ast.walk(self._draft.source.tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom) and self._is_ours(node):
                self._import_from(node)
        if not self._has_star and not self._star_stays():
            self._needed.update(self._provided())  # another file's star import bound them
        self._place()

    @staticmethod
    def _is_ours(node: ast.ImportFrom) -> bool:
        return not node.level and f"{node.module}.".startswith(f"{_PACKAGE}.")

    def _import(self, node: ast.Import) -> None:
        ours = [one for one in node.names if f"{one.name}.".startswith(f"{_PACKAGE}.")]
        if not ours:
            return
        kept, lines = [], []
        for alias in node.names:
            if alias not in ours:
                kept.append(alias)
                continue
            line, stays = self._module(alias.name, alias.asname)
            lines += [line] if line else []
            kept += [alias] if stays else []
        self._replace(node, kept, lines)

    def _module(self, name: str, bound: str | None) -> tuple[str, bool]:
        """A legacy module that is imported → the line instead, and whether the old one stays."""
        used = self._uses(bound) if bound else self._uses_package()
        if not bound:
            return "", used
        known = {**_SHARED_MEMORY, _CONFIG: "tritonclient.grpc.model_config_pb2"}.get(name)
        if known and not (name in _SHARED_MEMORY and self._memory_stays()):
            return (f"import {known} as {bound}" if used else ""), False
        return "", used

    def _import_from(self, node: ast.ImportFrom) -> None:
        lines: list[str] = []
        if node.names[0].name == "*":
            self._has_star = True
            stays = self._star_stays()
            if not stays:
                lines += self._provided()
            self._replace(node, node.names if stays else [], lines)
            return
        kept = []
        for alias in node.names:
            bound = alias.asname or alias.name
            name = f"{node.module}.{alias.name}"
            line, stays = self._member(name, bound)
            lines += [line] if line else []
            kept += [alias] if stays else []
        self._replace(node, kept, lines)

    def _member(self, name: str, bound: str) -> tuple[str, bool]:
        used = self._uses(bound) and bound not in self._own
        last = name.rpartition(".")[2]
        renamed = "" if bound == last else f" as {bound}"
        if not used:
            return "", False
        if name == f"{API}.InferenceServerException" and not self._draft.errors_stay:
            return f"from tritonclient.utils import {last}{renamed}", False
        if name == _CONFIG:
            return f"from tritonclient.grpc import {last}{renamed}", False
        owner = name.rpartition(".")[0]
        if name in _SHARED_MEMORY and not self._memory_stays():
            return f"import {_SHARED_MEMORY[name]} as {bound}", False
        if owner in _SHARED_MEMORY and not self._memory_stays():
            return f"from {_SHARED_MEMORY[owner]} import {last}{renamed}", False
        if owner == _CONFIG:
            return f"from tritonclient.grpc.model_config_pb2 import {last}{renamed}", False
        return "", True

    # --- what the rewritten text uses

    def _uses(self, name: str) -> bool:
        if name in self._taken:
            return True
        nodes = ast.walk(self._draft.source.tree)
        names = (n for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store))
        return any(one.id == name and self._imported(one) for one in names)

    def _imported(self, node: ast.Name) -> bool:
        return any(one.definition.kind is Kind.IMPORTED for one in self._draft.bindings(node))

    def _uses_package(self) -> bool:
        return any(
            isinstance(node, ast.Name) and node.id == _PACKAGE
            for node in ast.walk(self._draft.source.tree)
        )

    def _memory_stays(self) -> bool:
        return self._memory

    def _star_stays(self) -> bool:
        star = self._draft.evaluator.imports.star
        legacy = {name for name, symbol in star.items() if symbol.startswith(f"{_PACKAGE}.")}
        if legacy & self._taken - self._own:
            return True
        found = self._star_names() & legacy - self._own
        return bool(found - (set() if self._draft.errors_stay else _SUCCESSORS.keys()))

    def _provided(self) -> list[str]:
        """The imports of the names that only the star import bound."""
        found = []
        star = self._draft.evaluator.imports.star
        for name in self._star_names() - self._functions_of_star() - self._own:
            if star[name].startswith(f"{_PACKAGE}."):
                found.append(_SUCCESSORS[name])
            else:
                found.append(_PROVIDED.get(name, f"from ctypes import {name}"))
        return found

    def _functions_of_star(self) -> set[str]:
        """The functions that only the star import bound, where the file gets some of its own."""
        return self._star_names() & {"iteritems", "itervalues", "iterkeys"}

    def _star_names(self) -> set[str]:
        provided = self._draft.evaluator.is_provided
        nodes = ast.walk(self._draft.source.tree)
        names = {one.id for one in nodes if isinstance(one, ast.Name) and provided(one)}
        return names | self._taken & self._draft.evaluator.imports.star.keys()

    def _reads(self, name: str) -> bool:
        nodes = ast.walk(self._draft.source.tree)
        return name in self._taken or any(getattr(one, "id", "") == name for one in nodes)

    # --- changes

    def _replace(
        self, node: ast.Import | ast.ImportFrom, kept: list[ast.alias], lines: list[str]
    ) -> None:
        statement, edits = self._draft.statement(node), self._draft.edits
        if node in self._draft.source.tree.body:
            self._anchor = self._anchor or statement
            self._needed.update(lines)
        else:
            edits.before[statement] += sorted(set(lines), key=_order)
        if not kept:
            edits.removed.add(statement)
        elif len(kept) < len(node.names):
            text = _text_of(node, kept)
            edits.change(self._draft.places.of(node), lambda old: _small(edits.statements(text)))

    def _place(self) -> None:
        """Put the imports that are missing, and the functions, below the imports."""
        body = self._draft.source.tree.body
        there = {_text_of(one, one.names) for one in body if isinstance(one, _IMPORT)}
        lines = sorted(self._needed - there, key=_order)
        edits, imports = self._draft.edits, _leading(body, self._emitted)
        anchor = self._anchor or (self._draft.statement(imports[-1]) if imports else None)
        if anchor is not None:
            edits.after[anchor] += lines


def _helpers_line(called: Mapping[str, str], draft: Draft) -> str:
    """Return the import of functions from the module beside the file."""
    names = sorted(name if own == name else f"{name} as {own}" for name, own in called.items())
    dot = "." if draft.beside.in_package else ""
    line = f"from {dot}{MODULE} import {', '.join(names)}"
    if len(line) <= 100:
        return line
    lines = "".join(f"    {name},\n" for name in names)
    return f"from {dot}{MODULE} import (\n{lines})"


def _leading(body: list[ast.stmt], emitted: set[str]) -> list[ast.stmt]:
    """Return the imports before the first function, class or statement that needs the others."""
    found: list[ast.stmt] = []
    for one in body:
        if isinstance(one, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            break
        if any(getattr(node, "id", "") in emitted for node in ast.walk(one)):
            break
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            found.append(one)
    return found


def _text_of(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """An import of some of its names, as text."""
    parts = (f"{one.name} as {one.asname}" if one.asname else one.name for one in names)
    start = (
        f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
    )
    return f"{start}import {', '.join(parts)}"


def _small(statements: object) -> cst.CSTNode:
    return statements[0].body[0]  # type: ignore[index, no-any-return]


def _order(line: str) -> tuple[int, str]:
    """Python's own modules first, then libraries, then the program's, as formatters sort them."""
    third = ("numpy", "tritonclient", "google", "future", "pkg_resources")
    module = line.split()[1].split(".")[0]
    return (2 if module in ("", MODULE) else int(module in third), line)

"""The imports of a file, once its body is rewritten.

A legacy import goes when nothing reads what it binds.
"""

from __future__ import annotations

import ast
from typing import Mapping

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.sites import Site, module_entry
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
    """Rewrites the imports of a draft.

    ``text``: the rewritten body. Its names decide which imports stay.
    """

    def __init__(self, draft: Draft, text: ast.Module) -> None:
        self._draft, self._taken = draft, draft.beside.taken
        names = (node for node in ast.walk(text) if isinstance(node, ast.Name))
        self._reads = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
        provided = draft.evaluator.is_provided
        nodes = (node for node in ast.walk(draft.source.tree) if isinstance(node, ast.Name))
        self._provided_names = {node.id for node in nodes if provided(node)}
        called = {name: draft.called(name) for name in draft.helpers | self._functions_of_star()}
        called = {name: own for name, own in called.items() if self._is_read(own)}
        self.helpers, self.protocols = frozenset(called), frozenset(draft.modules)
        self._own = self.helpers & {_PROTOCOL}
        clients = {
            f"{module}client" for module in draft.modules if self._is_read(f"{module}client")
        }
        self._needed = {*draft.imports, *(f"import tritonclient.{c[:4]} as {c}" for c in clients)}
        if called:
            self._needed.add(_helpers_line(called, draft))
        self._has_star = False
        self._anchor: ast.stmt | None = None
        self._left: set[tuple[ast.AST, str]] = set()
        self._inside: set[tuple[ast.AST, str]] = set()  # blocks, and lines added to them

    def stays(self, site: Site) -> bool:
        """True if an import, or the import that a use needs, stays."""
        if isinstance(site.node, (ast.Import, ast.ImportFrom)):
            return (site.node, site.id) in self._left
        return isinstance(site.node, ast.Call) or site.id in {id for _, id in self._left}

    def rewrite(self) -> None:
        """Replace the legacy imports, and put functions below the imports."""
        for node in ast.walk(self._draft.source.tree):
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom) and self._is_ours(node):
                self._import_from(node)
        if not self._has_star and not self._star_stays():
            self._needed.update(self._provided())  # another file's star import bound them
        if self._star_stays() and self._star_names() - self._legacy_star():
            self._left.add((self._draft.source.tree, "TS002"))
        self._place()

    @staticmethod
    def _is_ours(node: ast.ImportFrom) -> bool:
        return not node.level and f"{node.module}.".startswith(f"{_PACKAGE}.")

    def _import(self, node: ast.Import) -> None:
        ours = [item for item in node.names if f"{item.name}.".startswith(f"{_PACKAGE}.")]
        if not ours:
            return
        kept, lines = [], []
        for alias in node.names:
            if alias not in ours:
                kept.append(alias)
                continue
            line, stays = self._module(alias.name, alias.asname)
            lines += [line] if line else []
            if stays:
                kept.append(alias)
                self._left.add((node, module_entry(alias.name)))
        self._replace(node, kept, lines)

    def _module(self, name: str, bound: str | None) -> tuple[str, bool]:
        """Return the line instead of a legacy import, and True if the old import stays."""
        used = self._is_read(bound or _PACKAGE)
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
            else:
                self._left.add((node, "TS001"))
            self._replace(node, node.names if stays else [], lines)
            return
        kept = []
        for alias in node.names:
            bound = alias.asname or alias.name
            name = f"{node.module}.{alias.name}"
            line, stays = self._member(name, bound)
            lines += [line] if line else []
            if stays:
                kept.append(alias)
                member = self._draft.evaluator.imports.member(node, alias.name)
                self._left.add((node, module_entry(member)))
        self._replace(node, kept, lines)

    def _member(self, name: str, bound: str) -> tuple[str, bool]:
        used = self._is_read(bound) and bound not in self._own
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

    def _is_read(self, name: str) -> bool:
        return name in self._taken or name in self._reads

    def _memory_stays(self) -> bool:
        return not self._draft.memory

    def _legacy_star(self) -> set[str]:
        star = self._draft.evaluator.imports.star
        return {name for name, symbol in star.items() if symbol.startswith(f"{_PACKAGE}.")}

    def _star_stays(self) -> bool:
        legacy = self._legacy_star() - self._own
        if legacy & self._taken:
            return True
        return bool(
            self._star_names() & legacy - (set() if self._draft.errors_stay else _SUCCESSORS.keys())
        )

    def _provided(self) -> list[str]:
        """Return the imports of the names that only the star import bound."""
        lines = []
        star = self._draft.evaluator.imports.star
        for name in self._star_names() - self._functions_of_star() - self._own:
            if star[name].startswith(f"{_PACKAGE}."):
                lines.append(_SUCCESSORS[name])
            else:
                lines.append(_PROVIDED.get(name, f"from ctypes import {name}"))
        return lines

    def _functions_of_star(self) -> set[str]:
        """Return the helpers whose names only the star import bound."""
        return self._star_names() & {"iteritems", "itervalues", "iterkeys"}

    def _star_names(self) -> set[str]:
        star = self._draft.evaluator.imports.star
        return self._provided_names & self._reads | self._taken & star.keys()

    # --- changes

    def _replace(
        self, node: ast.Import | ast.ImportFrom, kept: list[ast.alias], lines: list[str]
    ) -> None:
        edits = self._draft.edits
        statement = edits.statement(node)
        if node in self._draft.source.tree.body:
            self._anchor = self._anchor or statement
            self._needed.update(lines)
        else:
            block = self._draft.flows.parents[node]
            new = {line for line in lines if (block, line) not in self._inside}
            self._inside.update((block, line) for line in new)
            edits.before[statement] += sorted(new, key=_order)
        if not kept:
            edits.remove(node)
        elif len(kept) < len(node.names):
            self._draft.replace(node, _text_of(node, kept))

    def _place(self) -> None:
        """Add missing imports, and the import of helpers, below the imports."""
        body = self._draft.source.tree.body
        present = {
            _text_of(statement, statement.names)
            for statement in body
            if isinstance(statement, _IMPORT)
        }
        lines = sorted(self._needed - present, key=_order)
        edits = self._draft.edits
        imports = _leading(body, {site.node for site in self._draft.sites})
        anchor = self._anchor or (edits.statement(imports[-1]) if imports else None)
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


def _leading(body: list[ast.stmt], uses: set[ast.AST]) -> list[ast.stmt]:
    """Return the imports before the first function, class or statement with a legacy use."""
    imports: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, _IMPORT):
            imports.append(statement)
            continue
        defines = isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
        if defines or not uses.isdisjoint(ast.walk(statement)):
            break
    return imports


def _text_of(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """Return the text of an import of some of its names."""
    parts = (f"{name.name} as {name.asname}" if name.asname else name.name for name in names)
    start = (
        f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
    )
    return f"{start}import {', '.join(parts)}"


def _order(line: str) -> tuple[int, str]:
    """Return a key that sorts as formatters do: Python's modules, libraries, the program's."""
    third = ("numpy", "tritonclient", "google", "future", "pkg_resources")
    module = line.split()[1].split(".")[0]
    return (2 if module in ("", MODULE) else int(module in third), line)

"""The imports of a file, once its body is rewritten.

A legacy import goes when nothing reads what it binds.
"""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import Iterable

from tritonclient_shim.migrate.imports import API, is_of_v1
from tritonclient_shim.migrate.sites import Site, module_entry
from tritonclient_shim.rewrite.draft import ERROR, Draft
from tritonclient_shim.rewrite.emitted import MODULE, OTHERS, import_text

_IMPORT = (ast.Import, ast.ImportFrom)
_PACKAGE = "tensorrtserver"
#: Names of v1's star import, and the lines that import them; others are of ctypes.
_PROVIDED = {
    **{name: f"import {name}" for name in ("sys", "os", "struct", "threading", "pkg_resources")},
    "np": "import numpy as np",
    "partial": "from functools import partial",
    "IntEnum": "from enum import IntEnum",
    "ndpointer": "from numpy.ctypeslib import ndpointer",
    "text_format": "from google.protobuf import text_format",
    "iteritems": "\niteritems = dict.items",
}
#: Names and modules of v1 that tritonclient has, too.
_SUCCESSORS = {
    ERROR: "tritonclient.utils.InferenceServerException",
    f"{API}.model_config_pb2": "tritonclient.grpc.model_config_pb2",
    "tensorrtserver.shared_memory": "tritonclient.utils.shared_memory",
}


class FileHeader:
    """Rewrites the imports of a draft, by the names that its rewritten body reads."""

    def __init__(self, draft: Draft) -> None:
        self._draft, star = draft, draft.evaluator.imports.star
        text = ast.parse("\n".join((draft.edits.changed(), *draft.imports)))
        names = (node for node in ast.walk(text) if isinstance(node, ast.Name))
        loads = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
        self._read = loads | draft.beside.taken  # by the file or its importers
        draft.helpers = {name for name in draft.helpers if draft.called(name) in self._read}
        clients = self._read.intersection(f"{name}client" for name in draft.modules)
        self._needed = {*draft.imports, *(f"import tritonclient.{c[:4]} as {c}" for c in clients)}
        if draft.helpers:
            self._needed.add(_helpers_line(draft))
        nodes = (node for node in ast.walk(draft.source.tree) if isinstance(node, ast.Name))
        provided = {node.id for node in nodes if draft.evaluator.is_provided(node)}
        names_of_star = self._read & star.keys() & (provided | draft.beside.taken)
        #: the imports of what only star imports bind and is read
        self._star = [self._line(star[bound], bound) for bound in names_of_star]
        self._anchor: ast.stmt | None = None
        self._left: set[tuple[ast.AST, str]] = set()

    def stays(self, site: Site) -> bool:
        """True if an import, or the import that a use needs, stays."""
        if isinstance(site.node, _IMPORT):
            return (site.node, site.id) in self._left
        return site.id in {id for _, id in self._left}

    def rewrite(self) -> None:
        """Replace the legacy imports, and add the imports that the body needs."""
        tree = self._draft.source.tree
        for node in ast.walk(tree):
            if isinstance(node, _IMPORT) and not getattr(node, "level", 0):
                self._import(node)
        if "" in self._star:
            self._left.add((tree, "TS002"))
        else:
            self._needed.update(self._star)
        self._place()

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Replace the names of v1 in an import."""
        owner = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        draft, kept, lines = self._draft, [], []
        for alias in node.names:
            name = f"{owner}{alias.name}"
            instead = self._instead(alias, owner) if is_of_v1(name) else [""]
            if "" in instead:
                kept.append(alias)
                self._left.add((node, module_entry(name)))
            else:
                lines += instead
        if len(kept) == len(node.names):
            return
        if node in draft.source.tree.body:
            self._anchor = self._anchor or node
            self._needed.update(lines)
        else:
            draft.edits.before[node] += _sorted(lines)
        if kept:
            draft.write(node, import_text(node, kept))
        else:
            draft.edits.remove(node)

    def _instead(self, alias: ast.alias, owner: str) -> list[str]:
        """Return the imports of what an import of v1 binds, with '' for what only v1 has."""
        if alias.name == "*":
            return [""] if "" in self._star else []
        name = f"{owner}{alias.name}" if owner or alias.asname else _PACKAGE
        bound = alias.asname or name[len(owner) :]
        return [self._line(name, bound, not owner)] if bound in self._read else []

    def _line(self, name: str, bound: str, is_module: bool = False) -> str:
        """Return the import of a name that an import of v1 binds; '' if only v1 has it."""
        if not is_of_v1(name):
            return _PROVIDED.get(bound, f"from ctypes import {bound}")
        for old, new in _SUCCESSORS.items():
            if f"{name}.".startswith(f"{old}.") and old not in self._draft.kept:
                successor = new + name[len(old) :]
                owner, _, last = successor.rpartition(".")
                if is_module:
                    return f"import {successor} as {bound}"
                return f"from {owner} import {last}" + ("" if bound == last else f" as {bound}")
        return ""

    def _place(self) -> None:
        """Add missing imports below the imports."""
        body = self._draft.source.tree.body
        imports = [statement for statement in body if isinstance(statement, _IMPORT)]
        present = {import_text(statement, statement.names) for statement in imports}
        leading = list(takewhile(lambda part: isinstance(part, (*_IMPORT, ast.Expr)), body))
        above = [part for part in leading if isinstance(part, _IMPORT)] or imports[:1] or leading
        lines = _sorted(self._needed - present)
        if above:
            # a star import that stays would bind some of these names anew
            stars = [part for part in imports if part in above and part.names[0].name == "*"]
            anchor = max([self._anchor or above[-1], *stars], key=lambda part: part.lineno)
            self._draft.edits.after[anchor] += lines
        elif lines:
            self._draft.edits.before[body[0]] += [*lines, ""]


def _helpers_line(draft: Draft) -> str:
    """Return the import of functions from the module beside the file."""
    called = {name: draft.called(name) for name in draft.helpers}
    names = sorted(name if own == name else f"{name} as {own}" for name, own in called.items())
    start = f"from {'.' if draft.beside.in_package else ''}{MODULE} import"
    line, lines = ", ".join(names), "".join(f"    {name},\n" for name in names)
    return f"{start} {line}" if len(f"{start} {line}") <= 100 else f"{start} (\n{lines})"


def _sorted(lines: Iterable[str]) -> list[str]:
    """Sort imports as formatters do: Python's modules, libraries, the program's."""

    def order(line: str) -> tuple[int, str]:
        if " = " in line:  # what is made once for the file
            return 3, line
        module = line.split()[1].split(".")[0]
        return (2 if module in ("", MODULE) else int(module in OTHERS), line)

    return sorted(lines, key=order)

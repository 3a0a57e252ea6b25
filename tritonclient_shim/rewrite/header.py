"""The imports of a file, once its body is rewritten.

A legacy import goes when nothing reads what it binds.
"""

from __future__ import annotations

import ast
from itertools import takewhile
from typing import Mapping

from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.sites import Site, module_entry
from tritonclient_shim.rewrite.draft import Draft
from tritonclient_shim.rewrite.emitted import MODULE

_IMPORT = (ast.Import, ast.ImportFrom)
_PACKAGE = "tensorrtserver"
#: Names of v1's star import, and the lines that import them; others are of ctypes.
_PROVIDED = {
    "np": "import numpy as np",
    **{name: f"import {name}" for name in ("sys", "os", "struct", "threading", "pkg_resources")},
    "partial": "from functools import partial",
    "IntEnum": "from enum import IntEnum",
    "ndpointer": "from numpy.ctypeslib import ndpointer",
    **{f"iter{name}": f"\niter{name} = dict.{name}" for name in ("items", "keys", "values")},
    "text_format": "from google.protobuf import text_format",
}
#: Names and modules of v1 that tritonclient has, too.
_SUCCESSORS = {
    f"{API}.InferenceServerException": "tritonclient.utils.InferenceServerException",
    f"{API}.model_config_pb2": "tritonclient.grpc.model_config_pb2",
    "tensorrtserver.shared_memory": "tritonclient.utils.shared_memory",
}


class FileHeader:
    """Rewrites the imports of a draft.

    ``text``: the rewritten body. Its names decide which imports stay.
    """

    def __init__(self, draft: Draft, text: ast.Module) -> None:
        self._draft, self._taken = draft, draft.beside.taken
        names = (node for node in ast.walk(text) if isinstance(node, ast.Name))
        self._reads = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
        made = (line.partition(" = ")[2] for line in draft.imports)
        self._reads.update(text.partition("(")[0] for text in made)
        self._star = draft.evaluator.imports.star
        nodes = (node for node in ast.walk(draft.source.tree) if isinstance(node, ast.Name))
        provided = {node.id for node in nodes if draft.evaluator.is_provided(node)}
        #: names that only star imports bind, and that this file or its importers read
        self._star_names = provided & self._reads | self._taken & self._star.keys()
        called = {name: draft.called(name) for name in draft.helpers}
        called = {name: own for name, own in called.items() if self._is_read(own)}
        self.helpers, self.protocols = frozenset(called), frozenset(draft.modules)
        clients = [f"{name}client" for name in draft.modules if self._is_read(f"{name}client")]
        self._needed = {*draft.imports, *(f"import tritonclient.{c[:4]} as {c}" for c in clients)}
        if called:
            self._needed.add(_helpers_line(called, draft))
        self._anchor: ast.stmt | None = None
        self._left: set[tuple[ast.AST, str]] = set()
        self._inside: set[tuple[ast.AST, str]] = set()  # blocks, and lines added to them

    def stays(self, site: Site) -> bool:
        """True if an import, or the import that a use needs, stays."""
        if isinstance(site.node, _IMPORT):
            return (site.node, site.id) in self._left
        return isinstance(site.node, ast.Call) or site.id in {id for _, id in self._left}

    def rewrite(self) -> None:
        """Replace the legacy imports, and add the imports that the body needs."""
        tree, has_star = self._draft.source.tree, False
        for node in ast.walk(tree):
            if not isinstance(node, _IMPORT) or getattr(node, "level", None):
                continue
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                if _is_of_v1(node.module or ""):
                    has_star = True
                    self._star_import(node)
            else:
                self._import(node)
        if not has_star and not self._star_stays():
            self._needed.update(self._provided())  # another file's star import bound them
        if self._star_stays() and any(not _is_of_v1(self._star[x]) for x in self._star_names):
            self._left.add((tree, "TS002"))
        self._place()

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Replace the names of v1 in an import."""
        owner = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        kept, lines = [], []
        for alias in node.names:
            name = f"{owner}{alias.name}"
            if not _is_of_v1(name):
                kept.append(alias)
                continue
            bound = alias.asname or (alias.name if owner else _PACKAGE)
            successor = self._successor(name) if owner or alias.asname else ""
            if not self._is_read(bound):
                continue
            if successor:
                lines.append(_import_line(successor, bound, as_module=not owner))
                continue
            kept.append(alias)
            known = self._draft.evaluator.imports.symbols[alias]
            self._left.add((node, module_entry(known)))
        if len(kept) < len(node.names):
            self._replace(node, kept, lines)

    def _star_import(self, node: ast.ImportFrom) -> None:
        if self._star_stays():
            self._left.add((node, "TS001"))
        else:
            self._replace(node, [], self._provided())

    def _successor(self, name: str) -> str:
        """Return the name in tritonclient of a name of v1; '' for none."""
        for old, new in _SUCCESSORS.items():
            stays = (
                self._draft.errors_stay
                if old.endswith("Exception")
                else ("memory" in old and not self._draft.memory)
            )
            if f"{name}.".startswith(f"{old}.") and not stays:
                return new + name[len(old) :]
        return ""

    # --- what the rewritten text uses

    def _is_read(self, name: str) -> bool:
        return name in self._taken or name in self._reads

    def _star_stays(self) -> bool:
        legacy = {name for name in self._star_names if _is_of_v1(self._star[name])}
        return bool(legacy & self._taken) or not all(
            self._successor(self._star[name]) for name in legacy
        )

    def _provided(self) -> list[str]:
        """Return the imports of the names that only the star import bound."""
        lines = []
        for name in self._star_names:
            if _is_of_v1(self._star[name]):
                lines.append(_import_line(self._successor(self._star[name]), name))
            else:
                lines.append(_PROVIDED.get(name, f"from ctypes import {name}"))
        return lines

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
            ordered: list[str] = sorted(new, key=_order)
            edits.before[statement] += ordered
        if kept:
            self._draft.replace(node, _text_of(node, kept))
        else:
            edits.remove(node)

    def _place(self) -> None:
        """Add missing imports below the imports."""
        body = self._draft.source.tree.body
        imports = [statement for statement in body if isinstance(statement, _IMPORT)]
        present = {_text_of(statement, statement.names) for statement in imports}
        edits = self._draft.edits
        leading = takewhile(lambda part: isinstance(part, (*_IMPORT, ast.Expr)), body)
        above = [part for part in leading if isinstance(part, _IMPORT)] or imports[:1]
        anchor = self._anchor or (edits.statement(above[-1]) if above else None)
        if anchor is not None:
            edits.after[anchor] += sorted(self._needed - present, key=_order)


def _is_of_v1(name: str) -> bool:
    return f"{name}.".startswith(f"{_PACKAGE}.")


def _import_line(name: str, bound: str, as_module: bool = False) -> str:
    """Return the import of a name."""
    owner, _, last = name.rpartition(".")
    if as_module:
        return f"import {name} as {bound}"
    return f"from {owner} import {last}" + ("" if bound == last else f" as {bound}")


def _helpers_line(called: Mapping[str, str], draft: Draft) -> str:
    """Return the import of functions from the module beside the file."""
    names = sorted(name if own == name else f"{name} as {own}" for name, own in called.items())
    dot = "." if draft.beside.in_package else ""
    line = f"from {dot}{MODULE} import {', '.join(names)}"
    if len(line) <= 100:
        return line
    lines = "".join(f"    {name},\n" for name in names)
    return f"from {dot}{MODULE} import (\n{lines})"


def _text_of(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> str:
    """Return the text of an import of some of its names."""
    parts = (f"{name.name} as {name.asname}" if name.asname else name.name for name in names)
    start = (
        f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
    )
    return f"{start}import {', '.join(parts)}"


def _order(line: str) -> tuple[int, str]:
    """Return a key that sorts as formatters do: Python's modules, libraries, the program's."""
    if " = " in line:  # what is made once for the file
        return 3, line
    third = ("numpy", "tritonclient", "google", "future", "pkg_resources")
    module = line.split()[1].split(".")[0]
    return (2 if module in ("", MODULE) else int(module in third), line)
